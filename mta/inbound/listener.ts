/**
 * The inbound port: SMTP for mail that comes back, and for nothing else. Recipients are judged at RCPT (recipient-policy.ts). Of a mail the beginning
 * is kept, where a report has what it has to say, and the rest is read and dropped, so that a bounce with a large original is taken too.
 * 250 after the final dot means that it is committed; PostgreSQL away is 451, and the sender comes again.
 *
 * Lines that end in CR or LF alone, and NUL, are taken as they are: nothing that comes in here is ever sent on, and old servers write such
 * bounces. Connections are bounded, in all and by network; a client that is silent for a minute, or not done in fifteen, is cut off. One
 * broken client, handshake or mail disturbs no other.
 */
import type { Server, Socket } from 'node:net'
import type {
  SMTPServer,
  SMTPServerAddress,
  SMTPServerDataStream,
  SMTPServerOptions,
  SMTPServerSession,
} from 'smtp-server'
import { listenAt } from '#mta/smtp-server/listener.ts'
import { PromptServer } from '#mta/smtp-server/prompt-greeting.ts'
import type { Certificate } from '#mta/smtp-server/self-signed-certificate.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Mac } from '#src/mail/verp.ts'
import type { Tokens } from '#src/tracking/tokens.ts'
import { Reply } from '#mta/smtp-server/reply.ts'
import { createPeers, type Peers } from '#mta/smtp-server/connections-per-network.ts'
import { readTarget, type Target } from './recipient-policy.ts'

export interface Listener {
  readonly port: number
  /** Shows this one from the next connection on. */
  show(certificate: Certificate): void
  /** Takes nothing new, lets transactions end for a while, cuts the rest. */
  stop(): Promise<void>
}

/** A mail that was taken for one of our addresses. */
export interface Incoming {
  readonly target: Target
  readonly mailFrom: string
  readonly peer: string
  /** Octets that came. */
  readonly size: number
  /** The first KEPT_OCTETS of them. */
  readonly raw: Buffer
}

export interface ListenerParts {
  readonly ctx: Pick<Context, 'config' | 'log'>
  readonly mac: Mac
  readonly tokens: Pick<Tokens, 'readMailbox'>
  readonly certificate: Certificate
  /** Resolves when it is committed. May throw a Reply. */
  take(incoming: Incoming): Promise<void>
}

const KEPT_OCTETS = 128 * 1024
/** A bounce may bring back the largest mail there is, encoded once more. */
const MAX_OCTETS = 100 * 1024 * 1024
const MOST_RECIPIENTS = 20
const IDLE_MS = 60_000
const LONGEST_MS = 15 * 60_000
const CLOSE_MS = 3000
const FALLBACK_PORT = 2526
const OF_ONE_NETWORK = 0.2

/** @throws ConfigError when the port cannot be had. */
export async function startListener(parts: ListenerParts): Promise<Listener> {
  const { config } = parts.ctx
  const clients = createClients(createPeers(Math.ceil(config.inboundConnections * OF_ONE_NETWORK)))
  let server: SMTPServer | null = null
  const listen = (port: number): Server => {
    server = createServer(parts, clients)
    server.server.on('connection', (socket: Socket) => clients.watch(socket))
    return server.listen(port)
  }
  const place = { what: 'inbound mail', setting: 'INBOUND_PORT', port: config.inboundPort, fallback: FALLBACK_PORT }
  const port = await listenAt(parts.ctx, place, listen)
  parts.ctx.log.info({ port }, 'takes bounces and complaints')
  return {
    port,
    show: (certificate) => server?.updateSecureContext(certificate),
    stop: async () => {
      await new Promise<void>((resolve) => {
        server?.close(resolve)
      })
      clients.cut()
    },
  }
}

function createServer(parts: ListenerParts, clients: Clients): SMTPServer {
  const server = new PromptServer({
    ...optionsOf(parts),
    onMailFrom: (address, _session, reply) => reply(judgeSender(address)),
    onRcptTo: ({ address }, _session, reply) => reply(readTarget(address, targetsOf(parts)) === null ? NOT_OURS : null),
    onData: (stream, session, reply) => void takeMail(parts, stream, session).then((text) => reply(null, text), reply),
    onClose: ({ remoteAddress, remotePort }) => clients.forget(`${remoteAddress}:${remotePort}`),
  })
  server.on('error', (error) => parts.ctx.log.debug({ err: error }, 'a client of the inbound port failed'))
  return server
}

function targetsOf({ ctx: { config }, mac, tokens }: ListenerParts): Parameters<typeof readTarget>[1] {
  return { config, mac, tokens }
}

function optionsOf({ ctx: { config }, certificate }: ListenerParts): SMTPServerOptions {
  return {
    ...certificate,
    minVersion: 'TLSv1.2',
    name: config.serverName,
    banner: 'Mailstead',
    disabledCommands: ['AUTH'],
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    // our replies bring their own enhanced codes; smtp-server would put one of its own before them
    hideENHANCEDSTATUSCODES: true,
    size: MAX_OCTETS,
    maxRecipients: MOST_RECIPIENTS,
    maxClients: config.inboundConnections,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
  }
}

/** RFC 3463 3.8: we are no way to anybody else. */
const NOT_OURS = new Reply(550, '5.7.1 Only bounces and complaints for addresses that we gave out are taken here')
/** What our EHLO offers: RFC 1870, RFC 6152, RFC 6531. */
const MAIL_PARAMETERS: readonly string[] = ['SIZE', 'BODY', 'SMTPUTF8']

/** RFC 5321 4.1.1.11: a parameter that nobody offered is refused; smtp-server lets it pass. */
function judgeSender({ args }: SMTPServerAddress): Reply | null {
  const unknown = Object.keys(args === false ? {} : args).find((name) => !MAIL_PARAMETERS.includes(name))
  return unknown === undefined ? null : new Reply(555, '5.5.4 A parameter of MAIL that was not offered')
}

/** The sockets that are open. smtp-server takes all listeners off a socket that goes over to TLS: its end is told by `onClose` then. */
interface Clients {
  watch(socket: Socket): void
  forget(key: string): void
  cut(): void
}

function createClients(peers: Peers): Clients {
  const open = new Map<string, () => void>()
  const sockets = new Set<Socket>()
  const forget = (key: string): void => {
    open.get(key)?.()
    open.delete(key)
  }
  return {
    watch: (socket) => {
      const address = (socket.remoteAddress ?? '').replace(/^::ffff:/i, '')
      if (!peers.enter(address)) {
        socket.end('421 4.7.0 Too many connections from your network, come again later\r\n')
        socket.destroySoon()
        return
      }
      const key = `${address}:${socket.remotePort}`
      const deadline = setTimeout(() => socket.destroy(), LONGEST_MS)
      sockets.add(socket)
      open.set(key, () => {
        clearTimeout(deadline)
        sockets.delete(socket)
        peers.leave(address)
      })
      socket.once('close', () => forget(key))
    },
    forget,
    cut: () => {
      for (const socket of sockets) socket.destroy()
      for (const key of open.keys()) forget(key)
    },
  }
}

/** Reads one mail and has it committed for each of its recipients. Answers the text of the 250; throws a Reply for every other end. */
async function takeMail(
  parts: ListenerParts,
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
): Promise<string> {
  const { raw, size } = await read(stream)
  const { mailFrom, rcptTo } = session.envelope
  const targets = rcptTo.map(({ address }) => readTarget(address, targetsOf(parts))).filter((target) => target !== null)
  const about = { mailFrom: mailFrom === false ? '' : mailFrom.address, peer: session.remoteAddress, size, raw }
  try {
    await Promise.all(targets.map((target) => parts.take({ ...about, target })))
    return '2.6.0 Taken'
  } catch (error) {
    if (error instanceof Reply) throw error
    parts.ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, peer: about.peer },
      'a report could not be stored',
    )
    throw new Reply(451, '4.3.0 It cannot be stored now, come again later')
  }
}

async function read(stream: SMTPServerDataStream): Promise<{ raw: Buffer; size: number }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    // a piece of a chunk would keep the whole of it
    if (size < KEPT_OCTETS)
      chunks.push(size + chunk.length <= KEPT_OCTETS ? chunk : Buffer.from(chunk.subarray(0, KEPT_OCTETS - size)))
    size += chunk.length
  }
  if (stream.sizeExceeded) throw new Reply(552, '5.3.4 The message is too big')
  return { raw: Buffer.concat(chunks), size }
}
