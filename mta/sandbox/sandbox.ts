/**
 * What runs in sandbox mode in place of the internet: a DNS server and an MX, both on loopback, where the configuration says
 * (SANDBOX_DNS_PORT, SANDBOX_SMTP_PORT). Mail goes to it by the same path as to anybody else. What it took is kept for seven days.
 */
import { join } from 'node:path'
import { ConfigError } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { pruneInbox } from '#src/sandbox/inbox.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import { loadSelfSignedCertificate } from '#mta/smtp-server/self-signed-certificate.ts'
import { listenDns } from './dns-listener.ts'
import { createMailInspector } from './mail-inspection.ts'
import { createSimulatedReportSender } from './simulated-reports.ts'
import { startSandboxReceiver, type SandboxReceiver, type SandboxReceiverDeps } from './receiver.ts'
import { createRecentCounts } from './recent-counts.ts'
import { createZone, HOSTS } from './dns-zone.ts'

export interface Sandbox {
  readonly dnsPort: number
  readonly smtpPort: number
  stop(): Promise<void>
}

const HOUR_MS = 3_600_000
const RETENTION_MS = 7 * 24 * HOUR_MS

/** Starts both servers; port 0 takes a free one. Rejects, with nothing left running, when a port is taken. */
export async function startSandbox(ctx: Omit<Context, 'redis'>): Promise<Sandbox> {
  const undo: (() => Promise<void> | void)[] = []
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0)) await step()
  }
  try {
    const dns = await listenDns(ctx.config.sandboxDnsPort, createZone(ctx.db)).catch(
      explainPortInUse('DNS server', 'SANDBOX_DNS_PORT'),
    )
    undo.unshift(() => dns.stop())
    const inspector = createMailInspector(dns.port, (data) => ctx.encryption.mac('return-path', data))
    undo.unshift(() => inspector.stop())
    const certificate = await loadSelfSignedCertificate(join(ctx.config.dataDir, 'sandbox-tls.json'), SANDBOX_MX, ctx.clock.now())
    const reports = createSimulatedReportSender(ctx)
    undo.unshift(() => reports.stop())
    const deps = {
      ctx,
      inspector,
      counts: createRecentCounts(),
      reports,
      certificate,
      host: HOSTS[SANDBOX_MX],
      port: ctx.config.sandboxSmtpPort,
    }
    const receiver = await startSandboxReceiver(deps).catch(explainPortInUse('receiver', 'SANDBOX_SMTP_PORT'))
    undo.unshift(() => receiver.stop())
    const tlsFailReceiver = await startTlsFailReceiver({ ...deps, port: receiver.port })
    undo.unshift(() => tlsFailReceiver?.stop(), startPruning(ctx))
    return { dnsPort: dns.port, smtpPort: receiver.port, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The receiver whose TLS handshake fails; where a machine has one loopback address only, that simulator is missing. */
async function startTlsFailReceiver(deps: SandboxReceiverDeps): Promise<SandboxReceiver | null> {
  try {
    return await startSandboxReceiver({ ...deps, host: HOSTS['mx-tls-fail.mailstead.test'], failsTls: true })
  } catch (error) {
    deps.ctx.log.info({ err: error }, 'tls-fail.mailstead.test is not simulated here')
    return null
  }
}

/** Forgets old mail, now and every hour; answers how to end that. */
function startPruning({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  const prune = (): void => {
    last = pruneInbox(db, new Date(clock.now() - RETENTION_MS)).catch((error: unknown) =>
      log.warn({ err: error }, 'the sandbox inbox was not tidied'),
    )
  }
  const timer = setInterval(prune, HOUR_MS)
  prune()
  return async () => {
    clearInterval(timer)
    await last
  }
}

function explainPortInUse(server: string, setting: string): (error: unknown) => never {
  return (error) => {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    throw isTaken
      ? new ConfigError(
          `the port of the sandbox ${server} is taken by another program: choose another one with ${setting}`,
          { cause: error },
        )
      : error
  }
}
