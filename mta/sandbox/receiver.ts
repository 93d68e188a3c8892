/**
 * The built-in receiver of the sandbox: an MX that accepts mail for every address, simulates the outcome that a
 * simulator address names, and offers STARTTLS with its own certificate. 250 after the final dot means that the mail is
 * committed. An unavailable database is 451, an oversized mail 552, and bare CR, bare LF or NUL is 554. A broken
 * client, handshake or mail does not affect other connections.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
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

/** An SMTP reply in the form that smtp-server expects: an error with a response code. */
class SmtpReplyError extends Error {
  override readonly name = 'Reply'
  readonly responseCode: number
  constructor(responseCode: number, text: string) {
    super(text)
    this.responseCode = responseCode
  }
}

const IDLE_MS = 300_000
const CLOSE_MS = 500
/** base64 encodes 3 octets as 4 and adds line ends; the rest is for headers. */
const ENCODED_FACTOR = 1.4

/** Starts to listen. Rejects if the port is in use. */
export async function startSandboxReceiver(deps: SandboxReceiverDeps): Promise<SandboxReceiver> {
  const stopping = new AbortController()
  const sockets = new Map<string, Socket>()
  const closeConnection = ({ remoteAddress, remotePort }: SMTPServerSession): void => {
    sockets.get(`${remoteAddress}:${remotePort}`)?.destroy()
  }
  const server = new SMTPServer({
    ...serverOptions(deps),
    onMailFrom: (address, _session, reply) => reply(validateMailParameters(address)),
    onRcptTo: (address, session, reply) => reply(simulateRcpt(deps.counts, senderOf(session), address.address)),
    onData: (stream, session, reply) =>
      void acceptMail(deps, { stream, session, signal: stopping.signal }).then(
        (text) => (text === null ? closeConnection(session) : reply(null, text)),
        reply,
      ),
  })
  server.on('error', (error) => deps.ctx.log.debug({ err: error }, 'sandbox SMTP connection failed'))
  server.server.on('connection', (socket: Socket) => {
    const key = `${socket.remoteAddress}:${socket.remotePort}`
    sockets.set(key, socket)
    socket.once('close', () => sockets.delete(key))
  })
  const listener = server.listen(deps.port, deps.host)
  await once(listener, 'listening')
  const address = listener.address()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await new Promise<void>((resolve) => {
      server.close(resolve)
    })
    for (const socket of sockets.values()) socket.destroy()
  }
  return { port: address !== null && typeof address === 'object' ? address.port : deps.port, stop }
}

function serverOptions({ ctx, certificate, failsTls }: SandboxReceiverDeps): SMTPServerOptions {
  return {
    ...certificate,
    ...(failsTls === true && { requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' }),
    minVersion: 'TLSv1.2',
    name: SANDBOX_MX,
    banner: 'Mailstead sandbox',
    disabledCommands: ['AUTH'],
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    // our replies contain their own enhanced codes; smtp-server would prepend a second one
    hideENHANCEDSTATUSCODES: true,
    size: Math.ceil(ctx.config.maxMessageBytes * ENCODED_FACTOR) + 65_536,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
  }
}

function senderOf({ envelope }: SMTPServerSession): string {
  return envelope.mailFrom === false ? '' : envelope.mailFrom.address
}

/** MAIL parameters that our EHLO offers: RFC 1870, RFC 6152, RFC 6531. */
const MAIL_PARAMETERS: readonly string[] = ['SIZE', 'BODY', 'SMTPUTF8']

/** RFC 5321 4.1.1.11: rejects MAIL parameters that EHLO did not offer. smtp-server accepts them. */
function validateMailParameters({ args }: SMTPServerAddress): SmtpReplyError | null {
  const unsupported = Object.keys(args === false ? {} : args).find((name) => !MAIL_PARAMETERS.includes(name))
  return unsupported === undefined ? null : new SmtpReplyError(555, '5.5.4 MAIL parameter not supported')
}

/**
 * Returns the reply that rejects or defers a recipient, or null. Deferrals are counted per return-path and recipient: a
 * return-path is unique per recipient and message, and stays the same for all attempts.
 */
function simulateRcpt(counts: RecentCounts, sender: string, recipient: string): SmtpReplyError | null {
  const action = simulate(recipient)
  if (action.kind === 'reject') return new SmtpReplyError(action.code, action.text)
  if (action.kind !== 'defer') return null
  const earlier = counts.increment(`defer ${sender} ${recipient}`)
  if (earlier >= action.times) return null
  const limit = action.times === Infinity ? '' : ` of ${action.times}`
  return new SmtpReplyError(450, `4.2.1 Mailbox busy, deferral ${earlier + 1}${limit} (simulated)`)
}

interface IncomingData {
  readonly stream: SMTPServerDataStream
  readonly session: SMTPServerSession
  readonly signal: AbortSignal
}

/** Returns the text of the 250, or null to close the connection without a reply. Throws an SmtpReplyError otherwise. */
async function acceptMail(
  deps: SandboxReceiverDeps,
  { stream, session, signal }: IncomingData,
): Promise<string | null> {
  const raw = await readStream(stream)
  const sender = senderOf(session)
  const recipients = session.envelope.rcptTo.map(({ address }) => address)
  const actions = recipients.map((recipient) => ({ recipient, action: simulate(recipient) }))
  const drops = actions
    .filter(({ action, recipient }) => action.kind === 'drop' && isFirst(deps.counts, `drop ${sender} ${recipient}`))
    .map(({ action }) => action)
  if (drops.some((action) => action.kind === 'drop' && !action.isStored)) return null
  const seconds = Math.max(...actions.map(({ action }) => (action.kind === 'delay' ? action.seconds : 0)))
  if (seconds > 0)
    await sleep(seconds * 1000, undefined, { signal }).catch(() => {
      throw new SmtpReplyError(421, '4.3.2 The receiver is stopping')
    })
  const text = await storeAccepted(deps, session, raw)
  for (const { recipient, action } of actions)
    if (action.kind === 'report') deps.reports.send({ ...action, recipient, returnPath: sender })
  return drops.length > 0 ? null : text
}

function isFirst(counts: RecentCounts, key: string): boolean {
  return counts.increment(key) === 0
}

async function readStream(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) if (!stream.sizeExceeded) chunks.push(chunk)
  if (stream.sizeExceeded) throw new SmtpReplyError(552, '5.3.4 Message too big')
  const raw = Buffer.concat(chunks)
  const flaw = findFlaw(raw)
  if (flaw !== null) throw new SmtpReplyError(554, `5.6.0 The message has a ${flaw}`)
  return raw
}

/** RFC 5321 2.3.8 and 4.1.1.4: lines end with CRLF; a bare CR or LF is invalid. */
function findFlaw(raw: Buffer): string | null {
  if (raw.includes(0)) return 'NUL'
  const text = raw.toString('latin1')
  if (/\r(?!\n)/.test(text)) return 'bare CR'
  return /(?<!\r)\n/.test(text) ? 'bare LF' : null
}

async function storeAccepted(
  { ctx, inspector, writer }: SandboxReceiverDeps,
  session: SMTPServerSession,
  raw: Buffer,
): Promise<string> {
  const mailFrom = senderOf(session)
  const recipients = session.envelope.rcptTo.map(({ address }) => address)
  const { tlsOptions } = session
  try {
    const inspection = await inspector.inspect(raw, mailFrom)
    const tls = tlsOptions === false ? null : `${tlsOptions.version} ${tlsOptions.standardName}`
    const mail = { ...inspection, mailFrom, tls, raw }
    const [id = ''] = await writer.store({ mail, recipients, at: new Date(ctx.clock.now()) })
    ctx.log.info({ id: inspection.messageId, from: mailFrom, to: recipients, inbox: id }, 'the sandbox captured a mail')
    return `2.6.0 Captured as ${id}`
  } catch (error) {
    ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, from: mailFrom, to: recipients },
      'the sandbox failed to store a mail; the sender got 451 and retries',
    )
    throw new SmtpReplyError(451, '4.3.0 Temporary storage failure, try again later')
  }
}
