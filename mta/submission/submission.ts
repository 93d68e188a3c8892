/**
 * The submission role: accepts mail from programs and mail clients. SUBMISSION_PORT and SUBMISSION_ALT_PORT start in
 * plain text and offer STARTTLS; SUBMISSION_TLS_PORT uses TLS from the first byte. Any number of these processes may
 * run. A stop closes the ports, gives transactions some seconds to end, and waits for pending commits. A client that is
 * disconnected has no 250 and sends its message again.
 */
import type { Socket } from 'node:net'
import { loadPlans } from '#config/plans.ts'
import { createConnectionsPerNetwork } from '#mta/smtp-server/connections-per-network.ts'
import { openPorts, type OpenPort } from '#mta/smtp-server/listener.ts'
import type { ProxiedPeer } from '#mta/smtp-server/proxy-header.ts'
import { SUBMISSION_MAIL_PARAMETERS, SUBMISSION_RCPT_PARAMETERS } from '#mta/smtp-server/envelope-command.ts'
import type { Certificate } from '#mta/smtp-server/self-signed-certificate.ts'
import { SmtpServer, type SmtpServerOptions } from '#mta/smtp-server/smtp-server.ts'
import { loadServerCertificate, watchServerCertificate } from '#mta/smtp-server/server-certificate.ts'
import { createKeyring } from '#src/auth/keys.ts'
import type { Context } from '#src/context.ts'
import { createAttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { createRequestRateLimiter } from '#src/rate-limits/request-rate.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import type { Submission } from '#src/messages/submission.ts'
import { createRenderer } from '#src/templates/renderer.ts'
import type { SubmissionContext } from './context.ts'
import { createHandlers } from './handlers.ts'
import { createRelays } from './relays.ts'
import { removePorts, publishPorts, type SubmissionPorts } from '#src/net/submission-ports.ts'
import { maxOctets } from '#src/submission/message-octets.ts'

export interface SubmissionRole {
  readonly ports: SubmissionPorts
  /** Whether new connections are closed at once; conversations under way end normally. */
  refuseConnections(isRefused: boolean): void
  stop(): Promise<void>
}

const IDLE_SECONDS = 5 * 60 // RFC 5321 4.5.3.2.7
const CLOSE_MS = 3000
const NETWORK_SHARE = 0.2
/**
 * Waiting a moment before a commit lets more concurrent messages share it. Instant mail does not wait, nor does a batch
 * with a message of each connection.
 */
const COMMIT_BATCHING = {
  lingerMs: 20,
  minBatch: 3,
  isUrgent: ({ tier }: Submission): boolean => tier === 'instant',
}

/** What needs the rights of the user who starts the process. */
export interface OpenedSubmission {
  readonly certificate: Certificate
  readonly ports: Readonly<Record<keyof SubmissionPorts, OpenPort>>
}

/** @throws ConfigError if a port cannot be opened or the certificate cannot be read. */
export async function openSubmission(base: Pick<Context, 'config' | 'clock' | 'log'>): Promise<OpenedSubmission> {
  const { submissionPort, submissionTlsPort, submissionAltPort } = base.config
  const certificate = await loadServerCertificate(base)
  const what = 'submission'
  const ports = await openPorts(base, {
    plain: { what, setting: 'SUBMISSION_PORT', port: submissionPort, fallback: 2587 },
    tls: { what, setting: 'SUBMISSION_TLS_PORT', port: submissionTlsPort, fallback: 2465 },
    alt: { what, setting: 'SUBMISSION_ALT_PORT', port: submissionAltPort, fallback: 2525 },
  })
  return { certificate, ports }
}

/** @throws ConfigError if a port cannot be opened or the certificate cannot be read. */
export async function startSubmission(
  base: Context,
  metrics: MetricRegistry,
  opened?: OpenedSubmission,
): Promise<SubmissionRole> {
  const { certificate, ports: open } = opened ?? (await openSubmission(base))
  const sockets = new Set<Socket>()
  const ctx: SubmissionContext = {
    ...base,
    plans: loadPlans(base.config.plansFile),
    keyring: createKeyring(base),
    acceptor: createAcceptor(base, { ...COMMIT_BATCHING, expected: () => sockets.size }),
    rate: createRequestRateLimiter(base.redis, base.clock),
    attempts: createAttemptLimiter(base.redis, base.clock),
    relays: createRelays(base, base.config.relayNetworks),
    renderer: createRenderer(),
    memory: { bytes: 0 },
    metrics,
  }
  const ports = createListeners(ctx, sockets, certificate)
  const renewing = watchServerCertificate({
    ctx: base,
    initial: certificate,
    onChange: (renewed) => ports.useCertificate(renewed),
  })
  const close = async (): Promise<void> => {
    await renewing.stop()
    await ports.close()
    await ctx.acceptor.drain()
    await Promise.allSettled([ctx.keyring.stop(), ctx.rate.stop(), ctx.renderer.stop()])
  }
  const { config } = base
  try {
    await renewing.loaded
    const plain = await ports.listen(open.plain, false)
    const tls = await ports.listen(open.tls, true)
    const alt = await ports.listen(open.alt, false)
    base.log.info({ plain, tls, alt }, 'submission is listening')
    const listening = { plain, tls, alt }
    if (!publishPorts(config, listening))
      base.log.warn('failed to write the submission ports to DATA_DIR; commands of the CLI cannot find them')
    const stop = async (): Promise<void> => {
      removePorts(config, listening)
      await close()
    }
    return { ports: listening, refuseConnections: (isRefused) => ports.refuse(isRefused), stop }
  } catch (error) {
    await close()
    throw error
  }
}

interface SubmissionListeners {
  /** Starts a server on an open port; returns its number. */
  listen(open: OpenPort, isTls: boolean): Promise<number>
  /** Whether new connections are closed at once; conversations under way end normally. */
  refuse(isRefused: boolean): void
  /** Uses the certificate from the next connection on. */
  useCertificate(certificate: Certificate): void
  close(): Promise<void>
}

/** `sockets`: receives the open connections. */
function createListeners(ctx: SubmissionContext, sockets: Set<Socket>, certificate: Certificate): SubmissionListeners {
  const handlers = createHandlers(ctx)
  const servers: SmtpServer<unknown>[] = []
  const networks = createConnectionsPerNetwork(Math.ceil(ctx.config.submissionConnections * NETWORK_SHARE))
  ctx.metrics.collect(() => ({
    mailstead_submission_connections: [{ labels: [], value: sockets.size }],
    mailstead_submission_memory_bytes: [{ labels: [], value: ctx.memory.bytes }],
    mailstead_suppressed_recipients_total: [{ labels: ['accepting'], value: ctx.acceptor.batches.suppressed }],
  }))
  let isRefusing = false
  let current = certificate
  const admit = (socket: Socket, { address }: ProxiedPeer): boolean => {
    if (isRefusing || !networks.add(address)) {
      socket.destroy()
      return false
    }
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      networks.remove(address)
    })
    return true
  }
  const { clock, config, log } = ctx
  const deps = { clock, log, proxyNetworks: config.proxyProtocolNetworks, admit }
  return {
    listen: (open, isTls) => {
      const server = new SmtpServer({ ...optionsOf(ctx, current), isTls }, handlers, deps)
      servers.push(server)
      return open.listen(server)
    },
    refuse: (isRefused) => {
      isRefusing = isRefused
    },
    useCertificate: (renewed) => {
      current = renewed
      for (const server of servers) server.updateCertificate(renewed)
    },
    close: async () => {
      await Promise.all(servers.map((server) => server.stop()))
      for (const socket of sockets) socket.destroy()
    },
  }
}

function optionsOf({ config }: SubmissionContext, certificate: Certificate): SmtpServerOptions {
  return {
    name: config.serverName,
    banner: 'Mailstead',
    certificate,
    mailParameters: SUBMISSION_MAIL_PARAMETERS,
    rcptParameters: SUBMISSION_RCPT_PARAMETERS,
    maxOctets: maxOctets(config),
    maxRecipients: config.maxRecipients,
    maxConnections: config.submissionConnections,
    idleSeconds: IDLE_SECONDS,
    closeMs: CLOSE_MS,
  }
}
