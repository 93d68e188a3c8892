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
import { openPort, type OpenPort } from '#mta/smtp-server/listener.ts'
import { MAIL_PARAMETERS } from '#mta/smtp-server/envelope-command.ts'
import type { ProxiedPeer } from '#mta/smtp-server/proxy-header.ts'
import type { Certificate } from '#mta/smtp-server/self-signed-certificate.ts'
import type { SmtpSession } from '#mta/smtp-server/session.ts'
import { type MessageSink, SmtpServer, type SmtpHandlers, type SmtpServerDeps } from '#mta/smtp-server/smtp-server.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Mac } from '#src/mail/verp.ts'
import type { TrackingTokens } from '#src/tracking/tokens.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { createConnectionsPerNetwork, type ConnectionsPerNetwork } from '#mta/smtp-server/connections-per-network.ts'
import { resolveTarget, type InboundTarget } from './inbound-target.ts'
import type { MailFromNames } from './mail-from-names.ts'
import { MAX_DMARC_MAIL_OCTETS } from '#src/dmarc/received-queue.ts'
import { createMessageReader, REPORT_OCTETS, type MessageReader, type ReadMessage } from './message-reader.ts'
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
  readonly ctx: Pick<Context, 'clock' | 'config' | 'log'>
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

interface Transaction {
  /** How much of the mail its recipients need. */
  octets: number
}

type InboundSession = SmtpSession<Transaction>

const MAX_RECIPIENTS = 20
const IDLE_SECONDS = 60
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
  const server = createServer(deps, admit)
  const port = await deps.open.listen(server)
  deps.ctx.log.info({ port }, 'inbound port is listening for bounces, complaints and routed mail')
  return {
    port,
    updateCertificate: (certificate) => server.updateCertificate(certificate),
    refuseConnections: (isRefused) => {
      isRefusing = isRefused
    },
    stop: async () => {
      await server.stop()
      connections.destroyAll()
    },
  }
}

function createServer(deps: InboundListenerDeps, admit: SmtpServerDeps['admit']): SmtpServer<Transaction> {
  const { clock, config, log } = deps.ctx
  const reader = createMessageReader(config.inboundMaxMessageBytes)
  const handlers: SmtpHandlers<Transaction> = {
    open: (session) => {
      session.deadlineMs = clock.now() + MAX_CONNECTION_MS
      return { octets: REPORT_OCTETS }
    },
    mailFrom: ({ state }) => {
      state.octets = REPORT_OCTETS
      return null
    },
    rcptTo: (session, { address }) => validateRecipient(deps, address, session),
    data: (session) => receiveMail(deps, reader, session),
  }
  const options = {
    name: config.serverName,
    banner: 'Mailstead',
    certificate: deps.certificate,
    mailParameters: MAIL_PARAMETERS,
    rcptParameters: {},
    maxOctets: config.inboundMaxMessageBytes,
    maxRecipients: MAX_RECIPIENTS,
    maxConnections: config.inboundConnections,
    idleSeconds: IDLE_SECONDS,
    closeMs: CLOSE_MS,
  }
  return new SmtpServer(options, handlers, { clock, log, proxyNetworks: config.proxyProtocolNetworks, admit })
}

function targetDeps(deps: InboundListenerDeps): Parameters<typeof resolveTarget>[1] {
  const { ctx, macs, tokens, mailFromNames, routes } = deps
  return { config: ctx.config, macs, tokens, mailFromNames, routes }
}

async function validateRecipient(
  deps: InboundListenerDeps,
  address: string,
  { remoteAddress: peer, state }: InboundSession,
): Promise<ReplyError | null> {
  try {
    const target = await resolveTarget(address, targetDeps(deps))
    state.octets = Math.max(state.octets, octetsFor(target))
    return target === null ? UNKNOWN_RECIPIENT : target.kind === 'full' ? FULL : null
  } catch (error) {
    deps.ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
      { err: error, peer },
      'failed to check a recipient; the sender got 451 and retries',
    )
    return STORAGE_FAILURE
  }
}

/** RFC 3463 3.8: this port relays to nobody. */
const UNKNOWN_RECIPIENT = new ReplyError(550, '5.7.1 This server accepts no mail for this address')
const FULL = new ReplyError(452, '4.2.2 The recipient has received too much mail, try again later')
const RECIPIENT_CHANGED = new ReplyError(451, '4.2.0 A recipient changed while the mail arrived, try again later')
const STORAGE_FAILURE = new ReplyError(451, '4.3.0 Temporary storage failure, try again later')

/** The open connections, with the limit of each network. */
interface Connections {
  /** False if its network has too many; it is closed then. */
  track(socket: Socket, peer: ProxiedPeer): boolean
  destroyAll(): void
}

function createConnections(peers: ConnectionsPerNetwork): Connections {
  const sockets = new Set<Socket>()
  return {
    track: (socket, { address }) => {
      if (!peers.add(address)) {
        socket.on('error', () => undefined)
        socket.end('421 4.7.0 Too many connections from your network, try again later\r\n')
        socket.destroySoon()
        return false
      }
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        peers.remove(address)
      })
      return true
    },
    destroyAll: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** How much of a mail is stored for an address. */
function octetsFor(target: InboundTarget | null): number {
  if (target?.kind === 'routed') return Infinity
  return target?.kind === 'dmarc-report' ? MAX_DMARC_MAIL_OCTETS : REPORT_OCTETS
}

function receiveMail(deps: InboundListenerDeps, reader: MessageReader, session: InboundSession): MessageSink {
  const collector = reader.start(session.state.octets)
  return {
    write: (chunk) => collector.write(chunk),
    end: async () => {
      try {
        return await acceptMail(deps, session, collector.complete())
      } catch (error) {
        if (error instanceof ReplyError) throw error
        deps.ctx.log[isDatabaseAway(error) ? 'warn' : 'error'](
          { err: error, peer: session.remoteAddress },
          'failed to store a mail; the sender got 451 and retries',
        )
        throw STORAGE_FAILURE
      } finally {
        collector.release()
      }
    },
    abort: () => collector.release(),
  }
}

/** Commits one mail for each recipient. Returns the text of the 250. @throws ReplyError, or the error of a store. */
async function acceptMail(
  deps: InboundListenerDeps,
  { mailFrom, rcptTo, remoteAddress, helo, tls }: InboundSession,
  { raw, size }: ReadMessage,
): Promise<string> {
  const found = await Promise.all(rcptTo.map(({ address }) => resolveTarget(address, targetDeps(deps))))
  const targets = found.filter((target) => target !== null)
  if (targets.some(({ kind }) => kind === 'full')) throw FULL
  // a route that was deleted or changed since RCPT: the sender retries, and RCPT replies with the current state
  if (targets.length < found.length || targets.some((target) => raw.length < Math.min(size, octetsFor(target))))
    throw RECIPIENT_CHANGED
  const common = { mailFrom: mailFrom?.address ?? '', peer: remoteAddress, helo, isTls: tls !== null, size }
  await Promise.all(
    targets.map((target) => deps.accept({ ...common, target, raw: raw.subarray(0, octetsFor(target)) })),
  )
  return '2.6.0 Accepted'
}
