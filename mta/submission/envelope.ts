/** Checks the addresses of an envelope with the rule of src/mail/address.ts, and converts it to its stored form. */
import { parseAddress } from '#src/mail/address.ts'
import type { SubmittedRecipient, DsnRequest, SubmittedEnvelope } from '#src/messages/submission.ts'
import type { EnvelopeAddress } from '#mta/smtp-server/envelope-command.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import type { SubmissionSender } from '#src/submission/sender.ts'
import type { SubmissionSession } from './handlers.ts'

const BEYOND_ASCII = /[^\x20-\x7e]/
const NOT_ANNOUNCED = new ReplyError(553, '5.6.7 A non-ASCII address requires SMTPUTF8 at MAIL')

export function checkMailFrom(sender: EnvelopeAddress): ReplyError | null {
  return isAnnounced(sender.address, sender) ? null : NOT_ANNOUNCED
}

export function checkRcptTo({ address }: EnvelopeAddress, sender: EnvelopeAddress | null): ReplyError | null {
  if (!isAnnounced(address, sender)) return NOT_ANNOUNCED
  const read = parseAddress(address)
  return read.ok ? null : new ReplyError(553, `5.1.3 ${read.reason}`)
}

/** Checks the local part only: a domain has an ASCII form. */
function isAnnounced(address: string, sender: EnvelopeAddress | null): boolean {
  const local = address.slice(0, Math.max(0, address.lastIndexOf('@')))
  return !BEYOND_ASCII.test(local) || sender?.parameters.has('SMTPUTF8') === true
}

/**
 * The envelope as stored. Reports go to the envelope sender only if the client may use that address as From, in a
 * domain that signs: a client must not cause mail to a third party.
 */
export async function envelopeOf(
  { mailFrom, rcptTo }: Pick<SubmissionSession, 'mailFrom' | 'rcptTo'>,
  sender: SubmissionSender,
  recipients: readonly SubmittedRecipient[],
): Promise<SubmittedEnvelope> {
  const { address: from, parameters } = mailFrom ?? NO_SENDER
  const plain = { from, ...(parameters.has('SMTPUTF8') ? { isUtf8: true as const } : {}) }
  const read = parseAddress(from)
  const wishes = dsnRequestsOf(rcptTo, recipients)
  if (!read.ok || recipients.every((_, n) => wishes[n]?.notify?.[0] === 'NEVER')) return plain
  const verdict = await sender.authorizeFrom(read.address.address)
  if (!verdict.ok || verdict.domainId === null) return plain
  const ret = String(parameters.get('RET')).toUpperCase()
  const envid = parameters.get('ENVID')
  return {
    ...plain,
    reportTo: read.address.address,
    ...(isRet(ret) ? { ret } : {}),
    ...(typeof envid === 'string' ? { envid: envid.slice(0, MAX_PARAMETER) } : {}),
    ...(Object.keys(wishes).length > 0 ? { wishes } : {}),
  }
}

/** RFC 3461 4.4, 4.2 */
const MAX_PARAMETER = 500
const NO_SENDER: EnvelopeAddress = { address: '', parameters: new Map() }

function dsnRequestsOf(
  rcptTo: readonly EnvelopeAddress[],
  recipients: readonly SubmittedRecipient[],
): Record<string, DsnRequest> {
  const requests: Record<string, DsnRequest> = {}
  for (const { address: given, parameters } of rcptTo) {
    const read = parameters.size === 0 ? null : parseAddress(given)
    if (read?.ok !== true) continue
    const n = recipients.findIndex(({ address }) => address.toLowerCase() === read.address.address.toLowerCase())
    const notify = parameters.get('NOTIFY')
    const orcpt = parameters.get('ORCPT')
    requests[n] = {
      ...(typeof notify === 'string' ? { notify: notify.toUpperCase().split(',') } : {}),
      ...(typeof orcpt === 'string' ? { orcpt: orcpt.slice(0, MAX_PARAMETER) } : {}),
    }
  }
  return requests
}

function isRet(ret: string): ret is 'FULL' | 'HDRS' {
  return ret === 'FULL' || ret === 'HDRS'
}
