/**
 * `mailstead start`: everything on this machine. Stores, migrations, roles, then the first workspace and the banner; stopped in reverse.
 * One instance per DATA_DIR. Leftovers of one that was killed are cleared away. What fails before all is ready ends the start with
 * its reason; afterwards whatever dies is started again.
 */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Children, rolesFor, startChildren } from '#bin/supervisor/children.ts'
import { compileAhead } from '#bin/supervisor/compile-ahead.ts'
import { type Lock, takeLock } from '#bin/supervisor/lock.ts'
import { sandboxPorts } from '#bin/supervisor/sandbox-ports.ts'
import { lockFile, openStores, type Stores } from '#bin/supervisor/stores.ts'
import { reasonOf, Trouble } from '#bin/supervisor/user-error.ts'
import { environment } from '#config/environment.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { migrate } from '#src/stores/migrate.ts'
import { printBanner, provision } from './first-run.ts'
import { aborted, watchForStop } from './stop-signal.ts'

/** How long a PostgreSQL that was given may take to appear. */
const DATABASE_WAIT_MS = 60_000
const READY_WAIT_MS = 60_000
/** For one answer of the api. */
const ANSWER_MS = 5000

export async function run(args: string[]): Promise<number> {
  if (args.length > 0) {
    process.stderr.write('Usage: mailstead start   (settings come from the environment: docs/reference/settings.md)\n')
    return args[0] === '--help' ? 0 : 2
  }
  process.title = 'bin/mailstead start'
  const stop = watchForStop(() => process.exit(130))
  // A terminal that was closed cannot be told anything, and yet all is stopped in order.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const config = loadConfig()
  const lock = lockData(config)
  try {
    await serve(await settlePort(config), stop)
  } finally {
    lock.release()
  }
  return 0
}

/** Starts all in order, waits for the stop, and stops all in reverse, also when a step of the start failed. */
async function serve(config: Config, stop: AbortSignal): Promise<void> {
  const undo: (() => Promise<void>)[] = []
  try {
    const compiled = compileAhead()
    const stores = await openStores(config, say, stop)
    undo.unshift(() => stores.stop())
    await migrateWhenUp(stores.databaseUrl, stop)
    stop.throwIfAborted()
    await compiled
    const children = await startRoles(config, stores, stop)
    undo.unshift(() => children.stop())
    await awaitReady(config, stop)
    printBanner(await provision({ ...config, databaseUrl: stores.databaseUrl, redisUrl: stores.redisUrl }))
    await aborted(stop)
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    if (stop.aborted) say('Mailstead is stopping...')
    for (const step of undo) await step()
  }
}

async function startRoles(config: Config, stores: Stores, signal: AbortSignal): Promise<Children> {
  const env = {
    ...environment,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    DATA_DIR: config.dataDir,
    HTTP_PORT: String(config.httpPort),
    ...(await sandboxPorts(config)),
  }
  return startChildren(rolesFor(config.isSandbox), { logDir: join(config.dataDir, 'log'), env, say, signal })
}

/** A free HTTP port for 0; else finds out whether the port is free before anything is started. */
async function settlePort(config: Config): Promise<Config> {
  const server = createServer()
  server.listen(config.httpPort, config.httpHost ?? undefined)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw portTrouble(config.httpPort, error)
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (config.httpPort !== 0 || address === null || typeof address === 'string') return config
  return loadConfig({ ...environment, HTTP_PORT: String(address.port) })
}

function portTrouble(port: number, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'EADDRINUSE')
    return new Trouble(`Port ${port} is taken by another program. Choose another: HTTP_PORT=${port + 1} npm start`)
  if (code === 'EACCES')
    return new Trouble(`Port ${port} may not be used by this user. Choose one above 1023: HTTP_PORT=3000 npm start`)
  return error
}

function lockData({ dataDir }: Config): Lock {
  const file = lockFile(dataDir)
  try {
    mkdirSync(dirname(file), { recursive: true })
    const lock = takeLock(file)
    if (typeof lock !== 'number') return lock
    throw new Trouble(
      `Mailstead is already running with the data in ${dataDir} (process ${lock}). ` +
        'Stop it first, or set DATA_DIR to another folder.',
    )
  } catch (error) {
    if (error instanceof Trouble) throw error
    throw new Trouble(
      `The data folder ${dataDir} cannot be used: ${reasonOf(error)}. Set DATA_DIR to a folder that this user may write.`,
    )
  }
}

/** Migrates; a PostgreSQL that is not there yet (both were started together) is waited for. */
async function migrateWhenUp(databaseUrl: string, stop: AbortSignal): Promise<void> {
  const end = Date.now() + DATABASE_WAIT_MS
  for (let isToldOf = false; ; isToldOf = true) {
    try {
      await migrate(databaseUrl)
      return
    } catch (error) {
      if (!isDatabaseAway(error) || stop.aborted) throw error
      const reason = reasonOf(error)
      if (Date.now() > end)
        throw new Trouble(`PostgreSQL at ${placeOf(databaseUrl)} cannot be reached (${reason}). Check DATABASE_URL.`)
      if (!isToldOf) say(`Waiting for PostgreSQL at ${placeOf(databaseUrl)} (${reason})...`)
    }
    await sleep(300, undefined, { signal: stop })
  }
}

/** Waits for GET /readyz to be green. */
async function awaitReady({ httpPort, httpHost }: Config, stop: AbortSignal): Promise<void> {
  const host = httpHost === null || httpHost === '0.0.0.0' || httpHost === '::' ? '127.0.0.1' : httpHost
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${httpPort}/readyz`
  let last = 'no answer'
  for (const end = Date.now() + READY_WAIT_MS; Date.now() < end; await sleep(20, undefined, { signal: stop })) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]) })
      last = await answer.text()
      if (answer.ok) return
    } catch {
      // Not listening yet.
    }
  }
  throw new Trouble(`Mailstead started, but it is not ready: ${last}`)
}

/** A URL without its password. */
function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return searchParams.get('host') ?? `${host}${pathname}`
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
