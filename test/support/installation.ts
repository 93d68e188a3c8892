/**
 * What `npm start` starts, as a user has it: all roles in sandbox mode, with the dashboard, on stores of its own.
 * Statistics wait for every transaction of the server, so on the PostgreSQL of the test run a long one of another test
 * would delay them. It is stopped in order; if the test process dies, a reaper ends it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
import { freePort } from './free-ports.ts'
import { startPostgres, startRedis } from './stores.ts'
import { until } from './until.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/mailstead.ts')
const COMPILED = process.env['NODE_COMPILE_CACHE'] ?? join(import.meta.dirname, '../../node_modules/.cache/node')
const PORTS = [
  'HTTP_PORT',
  'SUBMISSION_PORT',
  'SUBMISSION_TLS_PORT',
  'SUBMISSION_ALT_PORT',
  'INBOUND_PORT',
  'SANDBOX_DNS_PORT',
  'SANDBOX_SMTP_PORT',
] as const
const READY_MS = 240_000

export interface Installation {
  /** Without a slash at the end. */
  readonly url: string
  /** Where the first operator creates an account. */
  readonly joinUrl: string
  readonly adminKey: string
  /** Empty without a sandbox, which has a domain that may send. */
  readonly sendingKey: string
  /** Where it receives mail from other servers. */
  readonly inboundPort: number
  /** What it printed. */
  output(): string
  stop(): Promise<void>
}

/** @throws with the output if it does not become ready. */
export async function startInstallation(env: Readonly<Record<string, string>> = {}): Promise<Installation> {
  const home = mkdtempSync('/tmp/mailstead-test-')
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const ports: [string, string][] = []
  for (const name of PORTS) ports.push([name, String(await freePort())])
  const child = spawn(process.execPath, [PROGRAM, 'start'], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: COMPILED,
      KEEP_ROOT: 'true',
      DATA_DIR: home,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      RETRY_SCALE: '0.01',
      ...Object.fromEntries(ports),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const tie = attachReaper(child.pid ?? 0, 'TERM', home)
  const closed = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await closed
    tie.release()
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(home, { recursive: true, force: true })
  }
  try {
    await until(
      () => child.exitCode !== null || output.includes('/join/'),
      () => `not ready:\n${output}`,
      READY_MS,
    )
    const inboundPort = Number(ports.find(([name]) => name === 'INBOUND_PORT')?.[1])
    return { ...readBanner(output), inboundPort, output: () => output, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function readBanner(output: string): Pick<Installation, 'url' | 'joinUrl' | 'adminKey' | 'sendingKey'> {
  const find = (pattern: RegExp, missing?: string): string => {
    const found = pattern.exec(output)?.[1] ?? missing
    if (found === undefined) throw new Error(`the output has no ${pattern.source}:\n${output}`)
    return found
  }
  return {
    url: find(/is ready at (\S+?)\/?\s/),
    joinUrl: find(/(http\S+\/join\/\S+)/),
    adminKey: find(/Admin key +(\S+)/),
    sendingKey: find(/Sending key +(\S+)/, ''),
  }
}
