/**
 * The sandbox role replaces the internet in sandbox mode: a DNS server and an MX on loopback (SANDBOX_DNS_PORT,
 * SANDBOX_SMTP_PORT). Mail reaches it by the same delivery path as any other MX. Captured mail is deleted after seven
 * days. A port in use is an error, or with `anyPort` replaced by a free one: then the caller must tell every process
 * that connects to it.
 */
import { join } from 'node:path'
import { digestsFor } from '#src/crypto/encryption.ts'
import { ConfigError } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { pruneInbox } from '#src/sandbox/inbox.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import { type Certificate, loadSelfSignedCertificate } from '#mta/smtp-server/self-signed-certificate.ts'
import { createCapturedMailWriter } from './captured-mail-writer.ts'
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

export interface SandboxOptions {
  /** From `loadSandboxCertificate`, which needs the rights of the user who starts the process. */
  readonly certificate?: Certificate
  /** Uses a free port in place of one that another program uses. */
  readonly anyPort?: boolean
}

export function loadSandboxCertificate({ config, clock }: Pick<Context, 'config' | 'clock'>): Promise<Certificate> {
  return loadSelfSignedCertificate(join(config.dataDir, 'sandbox-tls.json'), SANDBOX_MX, clock.now())
}

/** Starts both servers; port 0 selects a free port. If a port is in use, it stops everything and rejects. */
export async function startSandbox(
  ctx: Omit<Context, 'redis'>,
  { anyPort = false, certificate: loaded }: SandboxOptions = {},
): Promise<Sandbox> {
  const open = anyPort ? openOrMove : openAsSet
  const undo: (() => Promise<void> | void)[] = []
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0)) await step()
  }
  try {
    const zone = createZone(ctx.db)
    const dns = await open(DNS_SERVER, ctx.config.sandboxDnsPort, (port) => listenDns(port, zone))
    undo.unshift(() => dns.stop())
    const inspector = createMailInspector(dns.port, digestsFor(ctx.encryption, 'return-path'))
    undo.unshift(() => inspector.stop())
    const writer = createCapturedMailWriter(ctx.db)
    undo.unshift(() => writer.drain())
    const certificate = loaded ?? (await loadSandboxCertificate(ctx))
    const reports = createSimulatedReportSender(ctx)
    undo.unshift(() => reports.stop())
    const deps = {
      ctx,
      inspector,
      writer,
      counts: createRecentCounts(),
      reports,
      certificate,
      host: HOSTS[SANDBOX_MX],
    }
    const receiver = await open(RECEIVER, ctx.config.sandboxSmtpPort, (port) => startSandboxReceiver({ ...deps, port }))
    undo.unshift(() => receiver.stop())
    const tlsFailReceiver = await startTlsFailReceiver({ ...deps, port: receiver.port })
    undo.unshift(() => tlsFailReceiver?.stop(), startPruning(ctx))
    return { dnsPort: dns.port, smtpPort: receiver.port, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts the receiver whose TLS handshake fails. Unavailable on a machine with only one loopback address. */
async function startTlsFailReceiver(deps: SandboxReceiverDeps): Promise<SandboxReceiver | null> {
  try {
    return await startSandboxReceiver({ ...deps, host: HOSTS['mx-tls-fail.mailstead.test'], failsTls: true })
  } catch (error) {
    deps.ctx.log.info({ err: error }, 'tls-fail.mailstead.test is not available: its receiver failed to start')
    return null
  }
}

/** Deletes old mail now and every hour. Returns a function that stops this. */
function startPruning({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  const prune = (): void => {
    last = pruneInbox(db, new Date(clock.now() - RETENTION_MS)).catch((error: unknown) =>
      log.warn({ err: error }, 'failed to prune the sandbox inbox'),
    )
  }
  const timer = setInterval(prune, HOUR_MS)
  prune()
  return async () => {
    clearInterval(timer)
    await last
  }
}

interface Listening {
  readonly what: string
  /** The setting that changes the port. */
  readonly setting: string
}
const DNS_SERVER: Listening = { what: 'DNS server', setting: 'SANDBOX_DNS_PORT' }
const RECEIVER: Listening = { what: 'receiver', setting: 'SANDBOX_SMTP_PORT' }

/** @throws ConfigError if another program uses the port. */
async function openAsSet<T>(place: Listening, port: number, listen: (port: number) => Promise<T>): Promise<T> {
  try {
    return await listen(port)
  } catch (error) {
    if (!isPortInUse(error)) throw error
    const problem = `the port of the sandbox ${place.what} is in use by another program`
    throw new ConfigError(`${problem}; set ${place.setting} to a free port`, { cause: error })
  }
}

/** Never checks a port before it is opened: another program could open it in between. */
async function openOrMove<T>(_place: Listening, port: number, listen: (port: number) => Promise<T>): Promise<T> {
  try {
    return await listen(port)
  } catch (error) {
    if (!isPortInUse(error)) throw error
    return listen(0)
  }
}

function isPortInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
}
