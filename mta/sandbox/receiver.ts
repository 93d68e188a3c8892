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
import { keepMail } from '#src/sandbox/inbox.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import type { Examiner } from './mail-inspection.ts'
import type { ReturnMail } from './return-mail.ts'
import { simulate } from './simulators.ts'
import type { Tally } from './recent-counts.ts'

export interface Receiver {
  readonly port: number
  stop(): Promise<void>
}

export interface ReceiverParts {
  readonly ctx: Pick<Context, 'config' | 'db' | 'clock' | 'log'>
  readonly examiner: Examiner
  /** How often each recipient of each message was turned away or dropped. */
  readonly tally: Tally
  /** Brings back what a simulator asks for. */
  readonly returns: ReturnMail
  /** PEM. */
  readonly certificate: { readonly key: string; readonly cert: string }
  readonly host: string
  readonly port: number
  /** Offers STARTTLS and then fails the handshake: it asks for a client certificate, which no sender has. */
  readonly failsTls?: boolean
}

/** A reply in the words of smtp-server: an error with the code in front of the text. */
class Reply extends Error {
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
export async function startReceiver(parts: ReceiverParts): Promise<Receiver> {
  const stopping = new AbortController()
  const sockets = new Map<string, Socket>()
  const cut = ({ remoteAddress, remotePort }: SMTPServerSession): void => {
    sockets.get(`${remoteAddress}:${remotePort}`)?.destroy()
  }
  const server = new SMTPServer({
    ...optionsOf(parts),
    onMailFrom: (address, _session, reply) => reply(judgeSender(address)),
    onRcptTo: (address, session, reply) => reply(judgeRecipient(parts.tally, senderOf(session), address.address)),
    onData: (stream, session, reply) =>
      void takeMail(parts, { stream, session, signal: stopping.signal }).then(
        (text) => (text === null ? cut(session) : reply(null, text)),
        reply,
      ),
  })
  server.on('error', (error) => parts.ctx.log.debug({ err: error }, 'a client of the sandbox receiver failed'))
  server.server.on('connection', (socket: Socket) => {
    const key = `${socket.remoteAddress}:${socket.remotePort}`
    sockets.set(key, socket)
    socket.once('close', () => sockets.delete(key))
  })
  const listener = server.listen(parts.port, parts.host)
  await once(listener, 'listening')
  const address = listener.address()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await new Promise<void>((resolve) => {
      server.close(resolve)
    })
    for (const socket of sockets.values()) socket.destroy()
  }
  return { port: address !== null && typeof address === 'object' ? address.port : parts.port, stop }
}

function optionsOf({ ctx, certificate, failsTls }: ReceiverParts): SMTPServerOptions {
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
function judgeSender({ args }: SMTPServerAddress): Reply | null {
  const unknown = Object.keys(args === false ? {} : args).find((name) => !MAIL_PARAMETERS.includes(name))
  return unknown === undefined ? null : new Reply(555, '5.5.4 A parameter of MAIL that was not offered')
}

/**
 * The refusal of a recipient, or null. A deferral is counted by return-path and recipient: the return-path is one for each recipient
 * of each message and stays the same over its tries.
 */
function judgeRecipient(tally: Tally, sender: string, recipient: string): Reply | null {
  const act = simulate(recipient)
  if (act.kind === 'refuse') return new Reply(act.code, act.text)
  if (act.kind !== 'defer') return null
  const before = tally.count(`defer ${sender} ${recipient}`)
  if (before >= act.times) return null
  return new Reply(
    450,
    `4.2.1 The mailbox is busy, refusal ${before + 1}${act.times === Infinity ? '' : ` of ${act.times}`} (simulated)`,
  )
}

interface Incoming {
  readonly stream: SMTPServerDataStream
  readonly session: SMTPServerSession
  readonly signal: AbortSignal
}

/** Reads, judges and keeps one mail. Answers the text of the 250, or null to cut the connection; throws a Reply for every other end. */
async function takeMail(parts: ReceiverParts, { stream, session, signal }: Incoming): Promise<string | null> {
  const raw = await read(stream)
  const sender = senderOf(session)
  const recipients = session.envelope.rcptTo.map(({ address }) => address)
  const acts = recipients.map((recipient) => ({ recipient, act: simulate(recipient) }))
  const drops = acts
    .filter(({ act, recipient }) => act.kind === 'drop' && parts.tally.count(`drop ${sender} ${recipient}`) === 0)
    .map(({ act }) => act)
  if (drops.some((act) => act.kind === 'drop' && !act.isKept)) return null
  const seconds = Math.max(...acts.map(({ act }) => (act.kind === 'delay' ? act.seconds : 0)))
  if (seconds > 0)
    await sleep(seconds * 1000, undefined, { signal }).catch(() => {
      throw new Reply(421, '4.3.2 The receiver is stopping')
    })
  const text = await keep(parts, session, raw)
  for (const { recipient, act } of acts)
    if (act.kind === 'return') parts.returns.send({ ...act, recipient, returnPath: sender })
  return drops.length > 0 ? null : text
}

async function read(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) if (!stream.sizeExceeded) chunks.push(chunk)
  if (stream.sizeExceeded) throw new Reply(552, '5.3.4 The message is too big')
  const raw = Buffer.concat(chunks)
  const flaw = flawOf(raw)
  if (flaw !== null) throw new Reply(554, `5.6.0 The message has a ${flaw}`)
  return raw
}

/** RFC 5321 2.3.8 and 4.1.1.4: lines end with CRLF, and neither half may stand alone. */
function flawOf(raw: Buffer): string | null {
  if (raw.includes(0)) return 'NUL'
  const text = raw.toString('latin1')
  if (/\r(?!\n)/.test(text)) return 'bare CR'
  return /(?<!\r)\n/.test(text) ? 'bare LF' : null
}

async function keep({ ctx, examiner }: ReceiverParts, session: SMTPServerSession, raw: Buffer): Promise<string> {
  const mailFrom = senderOf(session)
  const recipients = session.envelope.rcptTo.map(({ address }) => address)
  const { tlsOptions } = session
  try {
    const findings = await examiner.examine(raw, mailFrom)
    const tls = tlsOptions === false ? null : `${tlsOptions.version} ${tlsOptions.standardName}`
    const [id = ''] = await keepMail(ctx.db, { ...findings, mailFrom, tls, raw }, recipients, new Date(ctx.clock.now()))
    ctx.log.info({ id: findings.messageId, from: mailFrom, to: recipients, inbox: id }, 'the sandbox took a mail')
    return `2.6.0 Kept as ${id}`
  } catch (error) {
    ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, from: mailFrom, to: recipients },
      'the sandbox could not keep a mail',
    )
    throw new Reply(451, '4.3.0 The mail cannot be kept now')
  }
}
