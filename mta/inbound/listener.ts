/**
 * The inbound port: an SMTP server for returned mail and for mail to inbound routes. RCPT validates each recipient
 * (inbound-target.ts). Of returned mail the server stores the beginning, which holds the report, and discards the rest,
 * so it also accepts a bounce with a large original; routed mail is stored as a whole. 250 after the final dot means
 * that the mail is committed. While PostgreSQL is unavailable the reply is 451, and the sender retries.
 *
 * Bare CR, bare LF and NUL are accepted as they are: old servers write such bounces, and mail with them is not
 * forwarded.
 * Connections are limited in total and per network. A client that is idle for one minute, or connected for fifteen, is
 * disconnected. A broken client, handshake or mail does not affect other connections.
 */
import type { Socket } from 'node:net'
import type {
  SMTPServer,
  SMTPServerAddress,
  SMTPServerDataStream,
  SMTPServerOptions,
  SMTPServerSession,
} from 'smtp-server'
import { openPort, type OpenPort } from '#mta/smtp-server/listener.ts'
import { type PeerOptions, PromptServer } from '#mta/smtp-server/prompt-greeting.ts'
import type { ProxiedPeer } from '#mta/smtp-server/proxy-header.ts'
import type { Certificate } from '#mta/smtp-server/self-signed-certificate.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Mac } from '#src/mail/verp.ts'
import type { TrackingTokens } from '#src/tracking/tokens.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { createConnectionsPerNetwork, type ConnectionsPerNetwork } from '#mta/smtp-server/connections-per-network.ts'
import { resolveTarget, type InboundTarget } from './inbound-target.ts'
import type { MailFromNames } from './mail-from-names.ts'
import { MAX_DMARC_MAIL_OCTETS } from '#src/dmarc/received-queue.ts'
import { createMessageReader, REPORT_OCTETS, type MessageReader } from './message-reader.ts'
import type { RouteDirectory } from './route-directory.ts'

export interface InboundListener {
  readonly port: number
  /** New connections use this certificate. */
  readonly updateCertificate: (certificate: Certificate) => void
  /** Whether new connections are closed at once; conversations under way end normally. */
  refuseConnections(isRefused: boolean): void
  /** Stops accepting connections, waits CLOSE_MS for open transactions, then closes all connections. */
  stop(): Promise<void>
}

/** A mail accepted for one inbound address. */
export interface IncomingMail {
  readonly target: InboundTarget
  readonly mailFrom: string
  readonly peer: string
  readonly helo: string
  readonly isTls: boolean
  /** Octets received. */
  readonly size: number
  /** All of them for an inbound route, otherwise the first (octetsFor). */
  readonly raw: Buffer
}

export interface InboundListenerDeps {
  readonly ctx: Pick<Context, 'config' | 'log'>
  readonly macs: readonly Mac[]
  readonly tokens: Pick<TrackingTokens, 'readMailbox'>
  readonly mailFromNames: MailFromNames
  readonly routes: RouteDirectory
  readonly certificate: Certificate
  /** INBOUND_PORT, or what replaces it. */
  readonly open: OpenPort
  /** Resolves when the mail is committed. May throw a ReplyError. */
  accept(incoming: IncomingMail): Promise<void>
}

const MAX_RECIPIENTS = 20
const IDLE_MS = 60_000
const MAX_CONNECTION_MS = 15 * 60_000
const CLOSE_MS = 3000
const FALLBACK_PORT = 2526
const SHARE_PER_NETWORK = 0.2

/** @throws ConfigError when the port is not available. */
export function openInboundPort(ctx: InboundListenerDeps['ctx']): Promise<OpenPort> {
  const port = ctx.config.inboundPort
  return openPort(ctx, { what: 'inbound mail', setting: 'INBOUND_PORT', port, fallback: FALLBACK_PORT })
}

export async function startInboundListener(deps: InboundListenerDeps): Promise<InboundListener> {
  const { config } = deps.ctx
  const connections = createConnections(
    createConnectionsPerNetwork(Math.ceil(config.inboundConnections * SHARE_PER_NETWORK)),
  )
  let isRefusing = false
  const admit = (socket: Socket, peer: ProxiedPeer): boolean => {
    if (!isRefusing) return connections.track(socket, peer)
    socket.destroy()
    return false
  }
  const server = createServer(deps, connections, admit)
  const port = await deps.open.listen(server)
  deps.ctx.log.info({ port }, 'inbound port is listening for bounces, complaints and routed mail')
  return {
    port,
    updateCertificate: (certificate) => server.updateSecureContext(certificate),
    refuseConnections: (isRefused) => {
      isRefusing = isRefused
    },
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(resolve)
      })
      connections.destroyAll()
    },
  }
}

function createServer(deps: InboundListenerDeps, connections: Connections, admit: PeerOptions['admit']): SMTPServer {
  const { config, log } = deps.ctx
  const reader = createMessageReader(config.inboundMaxMessageBytes)
  const options: SMTPServerOptions = {
    ...serverOptions(deps),
    onMailFrom: (address, _session, reply) => reply(validateMailParameters(address)),
    onRcptTo: ({ address }, session, reply) =>
      void validateRecipient(deps, address, session).then((error) => reply(error), reply),
    onData: (stream, session, reply) =>
      void acceptMail(deps, reader, { stream, session }).then((text) => reply(null, text), reply),
    onClose: ({ remoteAddress, remotePort }) => connections.release(`${remoteAddress}:${remotePort}`),
  }
  const server = new PromptServer(options, { proxyNetworks: config.proxyProtocolNetworks, log, admit })
  server.on('error', (error) => deps.ctx.log.debug({ err: error }, 'inbound SMTP connection failed'))
  return server
}

function targetDeps(deps: InboundListenerDeps): Parameters<typeof resolveTarget>[1] {
  const { ctx, macs, tokens, mailFromNames, routes } = deps
  return { config: ctx.config, macs, tokens, mailFromNames, routes }
}

async function validateRecipient(
  deps: InboundListenerDeps,
  address: string,
  { remoteAddress: peer }: SMTPServerSession,
): Promise<ReplyError | null> {
  try {
    const target = await resolveTarget(address, targetDeps(deps))
    return target === null ? UNKNOWN_RECIPIENT : target.kind === 'full' ? FULL : null
  } catch (error) {
    deps.ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, peer },
      'failed to check a recipient; the sender got 451 and retries',
    )
    return STORAGE_FAILURE
  }
}

function serverOptions({ ctx: { config }, certificate }: InboundListenerDeps): SMTPServerOptions {
  return {
    ...certificate,
    minVersion: 'TLSv1.2',
    name: config.serverName,
    banner: 'Mailstead',
    disabledCommands: ['AUTH'],
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    // our replies contain their own enhanced codes; smtp-server would prepend a second one
    hideENHANCEDSTATUSCODES: true,
    size: config.inboundMaxMessageBytes,
    maxRecipients: MAX_RECIPIENTS,
    maxClients: config.inboundConnections,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
  }
}

/** RFC 3463 3.8: this port relays to nobody. */
const UNKNOWN_RECIPIENT = new ReplyError(550, '5.7.1 This server accepts no mail for this address')
const FULL = new ReplyError(452, '4.2.2 The recipient has received too much mail, try again later')
const STORAGE_FAILURE = new ReplyError(451, '4.3.0 Temporary storage failure, try again later')
/** MAIL parameters that our EHLO offers: RFC 1870, RFC 6152, RFC 6531. */
const MAIL_PARAMETERS: readonly string[] = ['SIZE', 'BODY', 'SMTPUTF8']

/** RFC 5321 4.1.1.11: rejects MAIL parameters that EHLO did not offer. smtp-server accepts them. */
function validateMailParameters({ args }: SMTPServerAddress): ReplyError | null {
  const unsupported = Object.keys(args === false ? {} : args).find((name) => !MAIL_PARAMETERS.includes(name))
  return unsupported === undefined ? null : new ReplyError(555, '5.5.4 MAIL parameter not supported')
}

/** The open sockets. smtp-server removes all listeners from a socket at STARTTLS; `onClose` reports its end instead. */
interface Connections {
  /** False if its network has too many; it is closed then. */
  track(socket: Socket, peer: ProxiedPeer): boolean
  release(key: string): void
  destroyAll(): void
}

function createConnections(peers: ConnectionsPerNetwork): Connections {
  const releaseByKey = new Map<string, () => void>()
  const sockets = new Set<Socket>()
  const release = (key: string): void => {
    releaseByKey.get(key)?.()
    releaseByKey.delete(key)
  }
  return {
    track: (socket, { address, port }) => {
      if (!peers.add(address)) {
        socket.end('421 4.7.0 Too many connections from your network, try again later\r\n')
        socket.destroySoon()
        return false
      }
      const key = `${address}:${port}`
      const deadline = setTimeout(() => socket.destroy(), MAX_CONNECTION_MS)
      sockets.add(socket)
      releaseByKey.set(key, () => {
        clearTimeout(deadline)
        sockets.delete(socket)
        peers.remove(address)
      })
      socket.once('close', () => release(key))
      return true
    },
    release,
    destroyAll: () => {
      for (const socket of sockets) socket.destroy()
      for (const key of releaseByKey.keys()) release(key)
    },
  }
}

interface ReceivedData {
  readonly stream: SMTPServerDataStream
  readonly session: SMTPServerSession
}

/** How much of a mail is stored for an address. */
function octetsFor(target: InboundTarget | null): number {
  if (target?.kind === 'routed') return Infinity
  return target?.kind === 'dmarc-report' ? MAX_DMARC_MAIL_OCTETS : REPORT_OCTETS
}

/** Reads one mail and commits it for each recipient. Returns the text of the 250; throws a ReplyError otherwise. */
async function acceptMail(
  deps: InboundListenerDeps,
  reader: MessageReader,
  { stream, session }: ReceivedData,
): Promise<string> {
  try {
    const { mailFrom, rcptTo } = session.envelope
    const resolving = Promise.all(rcptTo.map(({ address }) => resolveTarget(address, targetDeps(deps))))
    // a failure is reported after the data, as the protocol demands
    const found = await resolving.catch(() => [])
    const most = Math.max(...found.map(octetsFor), REPORT_OCTETS)
    return await reader.read(stream, most, async ({ raw, size }) => {
      const targets = (await resolving).filter((target) => target !== null)
      if (targets.some(({ kind }) => kind === 'full')) throw FULL
      const common = {
        mailFrom: mailFrom === false ? '' : mailFrom.address,
        peer: session.remoteAddress,
        helo: session.hostNameAppearsAs,
        isTls: session.secure,
        size,
      }
      await Promise.all(
        targets.map((target) => deps.accept({ ...common, target, raw: raw.subarray(0, octetsFor(target)) })),
      )
      return '2.6.0 Accepted'
    })
  } catch (error) {
    if (error instanceof ReplyError) throw error
    deps.ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, peer: session.remoteAddress },
      'failed to store a mail; the sender got 451 and retries',
    )
    throw STORAGE_FAILURE
  }
}
