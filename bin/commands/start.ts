/**
 * `mailstead start`: runs everything on this machine. Starts the stores, migrates the database, starts the roles,
 * creates the first workspace and prints the banner; stops in reverse order. One instance runs per DATA_DIR; what a
 * killed one left behind is removed. A failure before all is ready ends the start with its reason. Afterwards,
 * processes that die are restarted.
 */
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { listRoles, startRoleProcesses, type RoleProcesses } from '#bin/supervisor/children.ts'
import { buildDashboard } from '#bin/supervisor/dashboard-build.ts'
import { prepareProgram } from '#bin/supervisor/program-bundle.ts'
import { startHeartbeat } from '#bin/service/heartbeat.ts'
import { connectServiceManager } from '#bin/service/service-manager.ts'
import { releaseIdleMemory } from '#bin/service/idle-memory.ts'
import { type DataLock, acquireLock } from '#bin/supervisor/lock.ts'
import { lockFile, openStores, type RunningStores } from '#bin/supervisor/stores.ts'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import { environment } from '#config/environment.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { loadMasterKeys } from '#src/crypto/master-key.ts'
import { deriveRoleKeys } from '#src/crypto/role-keys.ts'
import { startProvisioner } from './provisioner.ts'
import { aborted, watchForStop } from './stop-signal.ts'
import { refuseArguments } from '#bin/cli/no-arguments.ts'

const READY_WAIT_MS = 60_000
/** For one response of the api. */
const REQUEST_TIMEOUT_MS = 5000

export async function run(args: string[]): Promise<number> {
  const refused = refuseArguments('start', args)
  if (refused !== null) return refused
  process.title = 'bin/mailstead start'
  const stop = watchForStop(() => process.exit(130))
  // after the terminal has closed, writes fail, but everything must still stop in order
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const config = loadConfig()
  const lock = lockData(config)
  try {
    await serve(await choosePort(config), stop)
  } finally {
    lock.release()
  }
  return 0
}

/** Starts everything in order, waits for the stop signal, and stops in reverse order, also after a failed start. */
async function serve(config: Config, stop: AbortSignal): Promise<void> {
  const undo: (() => Promise<void>)[] = []
  const manager = connectServiceManager()
  try {
    const provisioner = startProvisioner(stop)
    undo.unshift(() => provisioner.end())
    const prepared = prepareProgram()
    const dashboard = buildDashboard()
    const stores = await openStores(config, printLine, stop)
    undo.unshift(() => stores.stop())
    const { databaseUrl, redisUrl } = stores
    const settings = { databaseUrl, redisUrl, httpPort: config.httpPort }
    await provisioner.run('migrate', settings)
    stop.throwIfAborted()
    const { program, failure } = await prepared
    if (failure !== null) printLine(failure)
    const children = await startAllRoles(config, { ...stores, program }, stop)
    undo.unshift(() => children.stop().finally(() => removeRunFiles(config)))
    await awaitReady(config, stop)
    const dashboardFailure = await dashboard
    if (dashboardFailure !== null) printLine(dashboardFailure)
    await provisioner.run('provision', settings)
    manager.ready()
    releaseIdleMemory()
    const heartbeat = startHeartbeat(config.healthFile, manager)
    undo.push(() => Promise.resolve(heartbeat.stop()))
    await provisioner.run('report', settings)
    await provisioner.end()
    await aborted(stop)
    manager.stopping()
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    if (stop.aborted) printLine('Mailstead is stopping...')
    for (const step of undo) await step()
  }
}

function startAllRoles(
  config: Config,
  stores: RunningStores & { readonly program: string },
  signal: AbortSignal,
): Promise<RoleProcesses> {
  const masters = loadMasterKeys(config)
  const env = {
    ...withoutMasterKey(environment),
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    DATA_DIR: config.dataDir,
    HTTP_PORT: String(config.httpPort),
  }
  return startRoleProcesses(listRoles(config), {
    program: stores.program,
    logDir: join(config.dataDir, 'log'),
    env,
    settings: config,
    keysOf: (roles) => deriveRoleKeys(masters, roles),
    say: printLine,
    signal,
  })
}

/** Those that the roles wrote, which they may not remove after they have given up the rights of root. */
function removeRunFiles({ dataDir }: Config): void {
  const folder = join(dataDir, 'run')
  for (const name of readdirSync(folder))
    if (/^[a-z\d-]+\.pid$|^submission-ports\.json$/.test(name)) rmSync(join(folder, name), { force: true })
}

/** Each role gets the keys of its purposes only. */
function withoutMasterKey(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, MASTER_KEY: undefined, MASTER_KEY_FILE: undefined, MASTER_KEY_COMMAND: undefined }
}

/** Checks that the HTTP port is free before anything starts; chooses a free port if it is 0. */
async function choosePort(config: Config): Promise<Config> {
  const server = createServer()
  server.listen(config.httpPort, config.httpHost ?? undefined)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw describePortError(config.httpPort, error)
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (config.httpPort !== 0 || address === null || typeof address === 'string') return config
  return loadConfig({ ...environment, HTTP_PORT: String(address.port) })
}

function describePortError(port: number, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'EADDRINUSE')
    return new UserError(
      `Port ${port} is in use by another program.`,
      `Choose another: HTTP_PORT=${port + 1} npm start`,
    )
  if (code === 'EACCES')
    return new UserError(`This user may not listen on port ${port}.`, 'Choose one above 1023: HTTP_PORT=3000 npm start')
  return error
}

function lockData({ dataDir }: Config): DataLock {
  const file = lockFile(dataDir)
  try {
    mkdirSync(dirname(file), { recursive: true })
    const lock = acquireLock(file)
    if (typeof lock !== 'number') return lock
    throw new UserError(
      `Mailstead is already running with the data in ${dataDir} (process ${lock}).`,
      'Stop it first, or set DATA_DIR to another folder.',
    )
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `The data folder ${dataDir} cannot be used: ${reasonOf(error)}.`,
      'Set DATA_DIR to a folder that this user can write.',
    )
  }
}

/** Waits until GET /readyz succeeds, or lacks nothing but the end of a drain: its stores must run for that end. */
async function awaitReady({ httpPort, httpHost, nodeName }: Config, stop: AbortSignal): Promise<void> {
  const host = httpHost === null || httpHost === '0.0.0.0' || httpHost === '::' ? '127.0.0.1' : httpHost
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${httpPort}/readyz`
  let last = 'no answer'
  for (const end = Date.now() + READY_WAIT_MS; Date.now() < end; await sleep(20, undefined, { signal: stop })) {
    try {
      const answer = await readReadiness(url, AbortSignal.any([stop, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]))
      last = answer.body
      if (answer.isReady) return
      if (isReadyButDrained(last)) {
        printLine(`This node is drained: it sends nothing until \`mailstead node undrain ${nodeName}\`.`)
        return
      }
    } catch {
      // not listening yet
    }
  }
  throw new UserError(
    `Mailstead started but did not become ready: ${last}`,
    'See the logs in data/log, then run mailstead doctor.',
  )
}

/** Not with `fetch`, whose code would stay in memory: 10 MB. */
async function readReadiness(url: string, signal: AbortSignal): Promise<{ isReady: boolean; body: string }> {
  const request = get(url, { signal, agent: false })
  request.on('error', () => undefined) // also after the response began
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { isReady: response.statusCode === 200, body: await text(response) }
}

function isReadyButDrained(body: string): boolean {
  try {
    const { checks = {} } = JSON.parse(body) as { readonly checks?: Readonly<Record<string, string>> }
    const missing = Object.entries(checks).filter(([, state]) => state !== 'ok')
    return missing.length > 0 && missing.every(([name]) => name === 'node')
  } catch {
    return false // of a proxy
  }
}

function printLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
