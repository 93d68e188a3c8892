/**
 * The submission role: the ports where programs hand mail in as they would to any mail server. SUBMISSION_PORT and SUBMISSION_ALT_PORT
 * begin in the clear and offer STARTTLS, SUBMISSION_TLS_PORT is TLS from the first byte. Any number of these processes may run.
 *
 * Stops in order: listens no more, lets transactions end for a while, waits for what is being committed. A client that is cut off has no
 * 250 and sends again.
 */
import type { Server, Socket } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { loadPlans } from '#config/plans.ts'
import { createPeers } from '#mta/smtp-server/connections-per-network.ts'
import { listenAt, type Place } from '#mta/smtp-server/listener.ts'
import type { Certificate } from '#mta/smtp-server/self-signed-certificate.ts'
import { loadServerCertificate, watchServerCertificate } from '#mta/smtp-server/server-certificate.ts'
import { createKeyring } from '#src/auth/keys.ts'
import type { Context } from '#src/context.ts'
import { createAttempts } from '#src/rate-limits/attempt-limits.ts'
import { createRequestRate } from '#src/rate-limits/request-rate.ts'
import type { Registry } from '#src/metrics/registry.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createRenderer } from '#src/templates/render.ts'
import type { SubmissionContext } from './context.ts'
import { createHandlers } from './handlers.ts'
import { createRelays } from './sender.ts'
import { forgetPorts, tellPorts, type SubmissionPorts } from '#src/net/submission-ports.ts'
import { SubmissionServer } from './server.ts'
import { maxOctets } from './accept.ts'

export interface Submission {
  readonly ports: SubmissionPorts
  stop(): Promise<void>
}

const IDLE_MS = 5 * 60_000 // RFC 5321 4.5.3.2.7
const CLOSE_MS = 3000
const OF_ONE_NETWORK = 0.2
/** A mail by SMTP takes many steps. Where many come at once, a few ms at the last of them let twice as many share a commit. */
const GATHERING = { gatherMs: 8, crowd: 3 }

/** @throws ConfigError when a port cannot be had or the certificate cannot be read. */
export async function startSubmission(base: Context, metrics: Registry): Promise<Submission> {
  const ctx: SubmissionContext = {
    ...base,
    plans: loadPlans(base.config.plansFile),
    keyring: createKeyring(base),
    acceptor: createAcceptor(base, GATHERING),
    rate: createRequestRate(base.redis, base.clock),
    attempts: createAttempts(base.redis, base.clock),
    relays: createRelays(base, base.config.relayNetworks),
    renderer: createRenderer(),
    held: { bytes: 0 },
    metrics,
  }
  const certificate = await loadServerCertificate(base)
  const ports = createPorts(ctx, certificate)
  const close = async (): Promise<void> => {
    await ports.close()
    await ctx.acceptor.drain()
    await Promise.allSettled([ctx.keyring.stop(), ctx.rate.stop(), ctx.renderer.stop()])
  }
  const { config } = base
  try {
    const what = 'submission'
    const plain = await ports.open(
      { what, setting: 'SUBMISSION_PORT', port: config.submissionPort, fallback: 2587 },
      false,
    )
    const tls = await ports.open(
      { what, setting: 'SUBMISSION_TLS_PORT', port: config.submissionTlsPort, fallback: 2465 },
      true,
    )
    const alt = await ports.open(
      { what, setting: 'SUBMISSION_ALT_PORT', port: config.submissionAltPort, fallback: 2525 },
      false,
    )
    base.log.info({ plain, tls, alt }, 'takes mail by SMTP')
    const renewing = watchServerCertificate(base, certificate, (renewed) => ports.show(renewed))
    const told = { plain, tls, alt }
    if (!tellPorts(config, told))
      base.log.warn('where submission listens cannot be told to commands: DATA_DIR cannot be written')
    const stop = (): Promise<void> => {
      renewing.stop()
      forgetPorts(config, told)
      return close()
    }
    return { ports: told, stop }
  } catch (error) {
    await close()
    throw error
  }
}

interface Ports {
  open(place: Place, isTls: boolean): Promise<number>
  /** From the next connection on. */
  show(certificate: Certificate): void
  close(): Promise<void>
}

function createPorts(ctx: SubmissionContext, certificate: Certificate): Ports {
  const servers: SubmissionServer[] = []
  const sockets = new Set<Socket>()
  const peers = createPeers(Math.ceil(ctx.config.submissionConnections * OF_ONE_NETWORK))
  ctx.metrics.collect(() => ({
    mailstead_submission_connections: [{ labels: [], value: sockets.size }],
    mailstead_submission_held_bytes: [{ labels: [], value: ctx.held.bytes }],
  }))
  const watch = (socket: Socket): void => {
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d)/, '')
    if (!peers.enter(address)) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      peers.leave(address)
    })
  }
  const begin = (port: number, isTls: boolean): Server => {
    const server = createServer(ctx, certificate, isTls)
    server.server.on('connection', watch)
    servers.push(server)
    return server.listen(port)
  }
  return {
    open: (place, isTls) => listenAt(ctx, place, (port) => begin(port, isTls)),
    show: (renewed) => {
      for (const server of servers) server.updateSecureContext(renewed)
    },
    close: async () => {
      await Promise.all(
        servers
          .filter((one) => one.server.listening)
          .map(
            (one) =>
              new Promise<void>((resolve) => {
                one.close(resolve)
              }),
          ),
      )
      for (const socket of sockets) socket.destroy()
    },
  }
}

function createServer(ctx: SubmissionContext, certificate: Certificate, isTls: boolean): SubmissionServer {
  const server: SubmissionServer = new SubmissionServer(
    {
      ...optionsOf(ctx, certificate),
      secure: isTls,
      ...createHandlers(ctx, (session) => server.visitOf(session)),
    },
    { mayLogInPlain: ctx.config.submissionPlainLogin === 'anywhere', clock: ctx.clock },
  )
  // without a listener one broken TLS handshake ends the process
  server.on('error', (error) => ctx.log.debug({ err: error }, 'a client of a submission port failed'))
  return server
}

function optionsOf({ config }: SubmissionContext, certificate: Certificate): SMTPServerOptions {
  return {
    ...certificate,
    minVersion: 'TLSv1.2',
    name: config.serverName,
    banner: 'Mailstead',
    logger: false,
    authMethods: ['PLAIN', 'LOGIN'],
    authOptional: true,
    allowInsecureAuth: true, // where AUTH is taken is judged by the visit
    disabledCommands: ['WIZ', 'SHELL', 'KILL'],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    hideDSN: false,
    size: maxOctets(config),
    maxRecipients: config.maxRecipients,
    maxClients: config.submissionConnections,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
  }
}
