/**
 * The built-in receiver: an MX that takes mail for everybody, and does what the simulator addresses say. STARTTLS with a certificate of its own.
 * 250 after the final dot means that the mail is committed; a database that is away is 451, an oversized mail 552, bare CR, LF or NUL 554.
 * One broken client, handshake or mail disturbs no other.
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
import { storeCapturedMail } from '#src/sandbox/inbox.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import type { MailInspector } from './mail-inspection.ts'
import type { SimulatedReportSender } from './simulated-reports.ts'
import { simulate } from './simulators.ts'
import type { RecentCounts } from './recent-counts.ts'

export interface SandboxReceiver {
  readonly port: number
  stop(): Promise<void>
}

export interface SandboxReceiverDeps {
  readonly ctx: Pick<Context, 'config' | 'db' | 'clock' | 'log'>
  readonly inspector: MailInspector
  /** How often each recipient of each message was turned away or dropped. */
  readonly counts: RecentCounts
  /** Brings back what a simulator asks for. */
  readonly reports: SimulatedReportSender
  /** PEM. */
  readonly certificate: { readonly key: string; readonly cert: string }
  readonly host: string
  readonly port: number
  /** Offers STARTTLS and then fails the handshake: it asks for a client certificate, which no sender has. */
  readonly failsTls?: boolean
}

/** A reply in the words of smtp-server: an error with the code in front of the text. */
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
/** base64 makes 4 of 3 and adds line ends; the rest is headers. */
const ENCODED_FACTOR = 1.4

/** Starts to listen. Rejects when the port is taken. */
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
  server.on('error', (error) => deps.ctx.log.debug({ err: error }, 'a client of the sandbox receiver failed'))
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
    // our replies bring their own enhanced codes; smtp-server would put one of its own before them
    hideENHANCEDSTATUSCODES: true,
    size: Math.ceil(ctx.config.maxMessageBytes * ENCODED_FACTOR) + 65_536,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
  }
}

function senderOf({ envelope }: SMTPServerSession): string {
  return envelope.mailFrom === false ? '' : envelope.mailFrom.address
}

/** What our EHLO offers: RFC 1870, RFC 6152, RFC 6531. */
const MAIL_PARAMETERS: readonly string[] = ['SIZE', 'BODY', 'SMTPUTF8']

/** RFC 5321 4.1.1.11: a parameter that nobody offered is refused; smtp-server lets it pass. */
function validateMailParameters({ args }: SMTPServerAddress): SmtpReplyError | null {
  const unsupported = Object.keys(args === false ? {} : args).find((name) => !MAIL_PARAMETERS.includes(name))
  return unsupported === undefined ? null : new SmtpReplyError(555, '5.5.4 A parameter of MAIL that was not offered')
}

/**
 * The refusal of a recipient, or null. A deferral is counted by return-path and recipient: the return-path is one for each recipient
 * of each message and stays the same over its tries.
 */
function simulateRcpt(counts: RecentCounts, sender: string, recipient: string): SmtpReplyError | null {
  const action = simulate(recipient)
  if (action.kind === 'reject') return new SmtpReplyError(action.code, action.text)
  if (action.kind !== 'defer') return null
  const earlier = counts.increment(`defer ${sender} ${recipient}`)
  if (earlier >= action.times) return null
  return new SmtpReplyError(
    450,
    `4.2.1 The mailbox is busy, refusal ${earlier + 1}${action.times === Infinity ? '' : ` of ${action.times}`} (simulated)`,
  )
}

interface IncomingData {
  readonly stream: SMTPServerDataStream
  readonly session: SMTPServerSession
  readonly signal: AbortSignal
}

/** Reads, judges and keeps one mail. Answers the text of the 250, or null to cut the connection; throws a Reply for every other end. */
async function acceptMail(deps: SandboxReceiverDeps, { stream, session, signal }: IncomingData): Promise<string | null> {
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
  if (stream.sizeExceeded) throw new SmtpReplyError(552, '5.3.4 The message is too big')
  const raw = Buffer.concat(chunks)
  const flaw = findFlaw(raw)
  if (flaw !== null) throw new SmtpReplyError(554, `5.6.0 The message has a ${flaw}`)
  return raw
}

/** RFC 5321 2.3.8 and 4.1.1.4: lines end with CRLF, and neither half may stand alone. */
function findFlaw(raw: Buffer): string | null {
  if (raw.includes(0)) return 'NUL'
  const text = raw.toString('latin1')
  if (/\r(?!\n)/.test(text)) return 'bare CR'
  return /(?<!\r)\n/.test(text) ? 'bare LF' : null
}

async function storeAccepted({ ctx, inspector }: SandboxReceiverDeps, session: SMTPServerSession, raw: Buffer): Promise<string> {
  const mailFrom = senderOf(session)
  const recipients = session.envelope.rcptTo.map(({ address }) => address)
  const { tlsOptions } = session
  try {
    const inspection = await inspector.inspect(raw, mailFrom)
    const tls = tlsOptions === false ? null : `${tlsOptions.version} ${tlsOptions.standardName}`
    const [id = ''] = await storeCapturedMail(ctx.db, { ...inspection, mailFrom, tls, raw }, recipients, new Date(ctx.clock.now()))
    ctx.log.info({ id: inspection.messageId, from: mailFrom, to: recipients, inbox: id }, 'the sandbox took a mail')
    return `2.6.0 Kept as ${id}`
  } catch (error) {
    ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, from: mailFrom, to: recipients },
      'the sandbox could not keep a mail',
    )
    throw new SmtpReplyError(451, '4.3.0 The mail cannot be kept now')
  }
}
