/**
 * The built-in receiver of the sandbox: an MX that accepts mail for every address, simulates the outcome that a
 * simulator address names, and offers STARTTLS with its own certificate. 250 after the final dot means that the mail is
 * committed. An unavailable database is 451, an oversized mail 552, and bare CR, bare LF or NUL is 554. A broken
 * client, handshake or mail does not affect other connections.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { domainToUnicode } from 'node:url'
import { MAIL_PARAMETERS } from '#mta/smtp-server/envelope-command.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import type { SmtpSession } from '#mta/smtp-server/session.ts'
import { type MessageSink, SmtpServer, type SmtpServerOptions } from '#mta/smtp-server/smtp-server.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { OctetBuffer } from '#src/platform/octet-buffer.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import type { CapturedMailWriter } from './captured-mail-writer.ts'
import type { MailInspector } from './mail-inspection.ts'
import type { SimulatedReportSender } from './simulated-reports.ts'
import { simulate } from './simulators.ts'
import type { RecentCounts } from './recent-counts.ts'

export interface SandboxReceiver {
  readonly port: number
  stop(): Promise<void>
}

export interface SandboxReceiverDeps {
  readonly ctx: Pick<Context, 'config' | 'clock' | 'log'>
  readonly inspector: MailInspector
  readonly writer: CapturedMailWriter
  /** How often each recipient of each message was deferred or dropped. */
  readonly counts: RecentCounts
  /** Sends the bounces and complaints that a simulator address asks for. */
  readonly reports: SimulatedReportSender
  /** PEM. */
  readonly certificate: { readonly key: string; readonly cert: string }
  readonly host: string
  readonly port: number
  /** Offers STARTTLS and fails the handshake, because it requires a client certificate, which no sender has. */
  readonly failsTls?: boolean
}

const IDLE_SECONDS = 300
const MAX_RECIPIENTS = 1000
const CLOSE_MS = 500
/** base64 encodes 3 octets as 4 and adds line ends; the rest is for headers. */
const ENCODED_FACTOR = 1.4

/** Starts to listen. Rejects if the port is in use. */
export async function startSandboxReceiver(deps: SandboxReceiverDeps): Promise<SandboxReceiver> {
  const stopping = new AbortController()
  const { clock, log } = deps.ctx
  const server = new SmtpServer<null>(
    optionsOf(deps),
    {
      open: () => null,
      mailFrom: () => null,
      rcptTo: (session, { address }) => simulateRcpt(deps.counts, senderOf(session), address),
      data: (session) => receiveMail(deps, session, stopping.signal),
    },
    { clock, log, proxyNetworks: [], admit: () => true },
  )
  const listener = server.listen({ port: deps.port, host: deps.host })
  await once(listener, 'listening')
  const stop = async (): Promise<void> => {
    stopping.abort()
    await server.stop()
  }
  return { port: (listener.address() as AddressInfo).port, stop }
}

function optionsOf({ ctx, certificate, failsTls = false }: SandboxReceiverDeps): SmtpServerOptions {
  return {
    name: SANDBOX_MX,
    banner: 'Mailstead sandbox',
    certificate,
    failsHandshakes: failsTls,
    mailParameters: MAIL_PARAMETERS,
    rcptParameters: {},
    maxOctets: maxOctetsOf(ctx),
    maxRecipients: MAX_RECIPIENTS,
    maxConnections: Infinity,
    idleSeconds: IDLE_SECONDS,
    closeMs: CLOSE_MS,
  }
}

function maxOctetsOf({ config }: SandboxReceiverDeps['ctx']): number {
  return Math.ceil(config.maxMessageBytes * ENCODED_FACTOR) + 65_536
}

function senderOf({ mailFrom }: SmtpSession): string {
  return mailFrom?.address ?? ''
}

/**
 * Returns the reply that rejects or defers a recipient, or null. Deferrals are counted per return-path and recipient: a
 * return-path is unique per recipient and message, and stays the same for all attempts.
 */
function simulateRcpt(counts: RecentCounts, sender: string, recipient: string): ReplyError | null {
  const action = simulate(recipient)
  if (action.kind === 'reject') return new ReplyError(action.code, action.text)
  if (action.kind !== 'defer') return null
  const earlier = counts.increment(`defer ${sender} ${recipient}`)
  if (earlier >= action.times) return null
  const limit = action.times === Infinity ? '' : ` of ${action.times}`
  return new ReplyError(450, `4.2.1 Mailbox busy, deferral ${earlier + 1}${limit} (simulated)`)
}

function receiveMail(deps: SandboxReceiverDeps, session: SmtpSession, signal: AbortSignal): MessageSink {
  const maxOctets = maxOctetsOf(deps.ctx)
  const buffer = new OctetBuffer()
  let size = 0
  return {
    write: (chunk) => {
      size += chunk.length
      if (size <= maxOctets) buffer.add(chunk)
    },
    end: async () => {
      if (size > maxOctets) throw new ReplyError(552, '5.3.4 Message too big')
      const raw = buffer.octets
      const flaw = findFlaw(raw)
      if (flaw !== null) throw new ReplyError(554, `5.6.0 The message has a ${flaw}`)
      return acceptMail(deps, session, { raw, signal })
    },
    abort: () => buffer.clear(),
  }
}

interface ReceivedMail {
  readonly raw: Buffer
  readonly signal: AbortSignal
}

/** Returns the text of the 250, or null to close the connection without a reply. @throws ReplyError. */
async function acceptMail(
  deps: SandboxReceiverDeps,
  session: SmtpSession,
  { raw, signal }: ReceivedMail,
): Promise<string | null> {
  const sender = senderOf(session)
  const recipients = session.rcptTo.map(({ address }) => address)
  const actions = recipients.map((recipient) => ({ recipient, action: simulate(recipient) }))
  const drops = actions
    .filter(({ action, recipient }) => action.kind === 'drop' && isFirst(deps.counts, `drop ${sender} ${recipient}`))
    .map(({ action }) => action)
  if (drops.some((action) => action.kind === 'drop' && !action.isStored)) return null
  const seconds = Math.max(...actions.map(({ action }) => (action.kind === 'delay' ? action.seconds : 0)))
  if (seconds > 0)
    await sleep(seconds * 1000, undefined, { signal }).catch(() => {
      throw new ReplyError(421, '4.3.2 The receiver is stopping')
    })
  const text = await storeAccepted(deps, session, raw)
  for (const { recipient, action } of actions)
    if (action.kind === 'report') deps.reports.send({ ...action, recipient, returnPath: sender })
  return drops.length > 0 ? null : text
}

function isFirst(counts: RecentCounts, key: string): boolean {
  return counts.increment(key) === 0
}

/** RFC 5321 2.3.8 and 4.1.1.4: lines end with CRLF; a bare CR or LF is invalid. */
function findFlaw(raw: Buffer): string | null {
  if (raw.includes(0)) return 'NUL'
  const text = raw.toString('latin1')
  if (/\r(?!\n)/.test(text)) return 'bare CR'
  return /(?<!\r)\n/.test(text) ? 'bare LF' : null
}

/** The inbox shows and searches international domains as people write them. */
function withReadableDomain(address: string): string {
  const at = address.lastIndexOf('@') + 1
  return `${address.slice(0, at)}${domainToUnicode(address.slice(at)) || address.slice(at)}`
}

async function storeAccepted(
  { ctx, inspector, writer }: SandboxReceiverDeps,
  session: SmtpSession,
  raw: Buffer,
): Promise<string> {
  const mailFrom = senderOf(session)
  const recipients = session.rcptTo.map(({ address }) => withReadableDomain(address))
  const tls = session.tls === null ? null : `${session.tls.version} ${session.tls.standardName}`
  try {
    const inspection = await inspector.inspect(raw, mailFrom)
    const mail = { ...inspection, mailFrom, tls, raw }
    const [id = ''] = await writer.store({ mail, recipients, at: new Date(ctx.clock.now()) })
    ctx.log.info({ id: inspection.messageId, from: mailFrom, to: recipients, inbox: id }, 'the sandbox captured a mail')
    return `2.6.0 Captured as ${id}`
  } catch (error) {
    ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, from: mailFrom, to: recipients },
      'the sandbox failed to store a mail; the sender got 451 and retries',
    )
    throw new ReplyError(451, '4.3.0 Temporary storage failure, try again later')
  }
}
