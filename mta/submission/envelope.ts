/**
 * Checks the envelope. It refuses parameters that were not offered (RFC 5321 4.1.1.11; smtp-server accepts them), and
 * parses addresses with the rule of src/mail/address.ts.
 */
import type { SMTPServerAddress, SMTPServerEnvelope, SMTPServerSession } from 'smtp-server'
import { parseAddress } from '#src/mail/address.ts'
import type { SubmittedRecipient, DsnRequest, SubmittedEnvelope } from '#src/messages/submission.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import type { SubmissionSender } from '#src/submission/sender.ts'

/** RFC 1870, RFC 6152, RFC 6531, RFC 3461; AUTH of RFC 4954 5 is accepted and ignored. */
const MAIL_PARAMETERS: ReadonlySet<string> = new Set(['SIZE', 'BODY', 'SMTPUTF8', 'RET', 'ENVID', 'AUTH'])
const RCPT_PARAMETERS: ReadonlySet<string> = new Set(['NOTIFY', 'ORCPT'])
const BEYOND_ASCII = /[^\x20-\x7e]/

export function checkMailFrom({ address, args }: SMTPServerAddress): ReplyError | null {
  return checkParameters(args, MAIL_PARAMETERS) ?? (isAnnounced(address, args) ? null : NOT_ANNOUNCED)
}

export function checkRcptTo({ address, args }: SMTPServerAddress, session: SMTPServerSession): ReplyError | null {
  const { mailFrom } = session.envelope
  const refusal =
    checkParameters(args, RCPT_PARAMETERS) ??
    (mailFrom !== false && isAnnounced(address, mailFrom.args) ? null : NOT_ANNOUNCED)
  if (refusal !== null) return refusal
  const read = parseAddress(address)
  return read.ok ? null : new ReplyError(553, `5.1.3 ${read.reason}`)
}

const NOT_ANNOUNCED = new ReplyError(553, '5.6.7 A non-ASCII address requires SMTPUTF8 at MAIL')

function checkParameters(args: SMTPServerAddress['args'], known: ReadonlySet<string>): ReplyError | null {
  const unknown = Object.keys(args === false ? {} : args).find((name) => !known.has(name))
  return unknown === undefined
    ? null
    : new ReplyError(555, `5.5.4 The parameter ${unknown.slice(0, 40)} was not offered`)
}

/** Checks the local part only: a domain has an ASCII form. */
function isAnnounced(address: string, args: SMTPServerAddress['args']): boolean {
  return (
    !BEYOND_ASCII.test(address.slice(0, Math.max(0, address.lastIndexOf('@')))) ||
    (args !== false && 'SMTPUTF8' in args)
  )
}

/**
 * The envelope as stored. Reports go to the envelope sender only if the client may use that address as From, in a
 * domain that signs: a client must not cause mail to a third party.
 */
export async function envelopeOf(
  { envelope }: SMTPServerSession,
  sender: SubmissionSender,
  recipients: readonly SubmittedRecipient[],
): Promise<SubmittedEnvelope> {
  const { mailFrom } = envelope
  const from = mailFrom === false ? '' : mailFrom.address
  const plain = {
    from,
    ...(mailFrom !== false && mailFrom.args !== false && 'SMTPUTF8' in mailFrom.args ? { isUtf8: true as const } : {}),
  }
  const read = parseAddress(from)
  const wishes = dsnRequestsOf(envelope, recipients)
  if (!read.ok || recipients.every((_, n) => wishes[n]?.notify?.[0] === 'NEVER')) return plain
  const verdict = await sender.authorizeFrom(read.address.address)
  if (!verdict.ok || verdict.domainId === null) return plain
  const { ret, envid } = envelope.dsn ?? {}
  return {
    ...plain,
    reportTo: read.address.address,
    ...(isRet(ret) ? { ret } : {}),
    ...(envid ? { envid: envid.slice(0, MAX_PARAMETER) } : {}),
    ...(Object.keys(wishes).length > 0 ? { wishes } : {}),
  }
}

/** RFC 3461 4.4, 4.2 */
const MAX_PARAMETER = 500

function dsnRequestsOf(
  { rcptTo }: SMTPServerEnvelope,
  recipients: readonly SubmittedRecipient[],
): Record<string, DsnRequest> {
  const requests: Record<string, DsnRequest> = {}
  for (const { address: given, dsn } of rcptTo) {
    const read = dsn === undefined ? null : parseAddress(given)
    if (read?.ok !== true) continue
    const n = recipients.findIndex(({ address }) => address.toLowerCase() === read.address.address.toLowerCase())
    requests[n] = {
      ...(dsn?.notify ? { notify: [...dsn.notify] } : {}),
      ...(dsn?.orcpt ? { orcpt: dsn.orcpt.slice(0, MAX_PARAMETER) } : {}),
    }
  }
  return requests
}

function isRet(ret: unknown): ret is 'FULL' | 'HDRS' {
  return ret === 'FULL' || ret === 'HDRS'
}
