/** Launches PostgreSQL on the data of a standby, which the supervisor never does: it waits for a server that writes. */
import { join } from 'node:path'
import { Client } from 'pg'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
import type { PostgresOptions } from '#bin/supervisor/postgres.ts'
import { lastLines } from '#bin/supervisor/log-file.ts'
import { applicationUrl } from '#bin/supervisor/postgres-access.ts'
import { findPostgres } from '#bin/supervisor/postgres-binaries.ts'
import { awaitReady, launch, type RunningProcess } from '#bin/supervisor/processes.ts'

export async function launchStandby(options: PostgresOptions): Promise<RunningProcess & { readonly url: string }> {
  const { dir, sockets, account, logFile, removeOnExit } = options
  const url = applicationUrl(sockets)
  const server = await launch({
    file: join(findPostgres(account, null).bin, 'postgres'),
    args: ['-D', dir, '-c', `unix_socket_directories=${sockets}`],
    cwd: dir,
    account,
    logFile,
    stopSignals: ['SIGINT', 'SIGQUIT'],
    graceMs: 30_000,
  })
  const reaper = attachReaper(server.pid, 'QUIT', removeOnExit)
  void server.exited.then(reaper.release)
  const state = await awaitReady(server, () => accepts(url), { ms: 120_000 })
  if (state === 'ready') return { ...server, url }
  await server.stop()
  throw new Error(`the standby did not start: ${state}. Last lines of its log:\n${lastLines(logFile, 10)}`)
}

async function accepts(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
