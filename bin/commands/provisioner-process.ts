/**
 * The process that provisioner.ts starts: it runs the steps that the supervisor requests over the channel, and ends
 * when the channel closes. What the steps print goes to the terminal of `start`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import { environment } from '#config/environment.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { migrate } from '#src/stores/migrate.ts'
import { UnsuitableStoreError } from '#src/stores/store-errors.ts'
import { offerFirstAccount } from './first-operator.ts'
import { agreeOnInstallation, printBanner, provision } from './first-run.ts'
import { reportWhatIsMissing } from './live-report.ts'
import type { ProvisionStep, StepRequest, StepResult } from './provisioner.ts'
import { watchForStop } from './stop-signal.ts'

/** How long to wait for an external PostgreSQL. */
const DATABASE_WAIT_MS = 60_000

type Step = (config: Config & StoreUrls, stop: AbortSignal) => Promise<void>

const STEPS: Readonly<Record<ProvisionStep, Step>> = {
  migrate: async (config, stop) => {
    await migrateWhenReachable(config.databaseUrl, stop)
    await agreeOnInstallation(config)
  },
  provision: async (config) => {
    const firstRun = await provision(config)
    printBanner(firstRun)
    for (const line of await offerFirstAccount(config, firstRun.workspaceId)) printLine(line)
  },
  report: (config) => reportWhatIsMissing(config, printLine),
}

/** Migrates the database. Waits for PostgreSQL if it is not reachable yet, as when both start together. */
async function migrateWhenReachable(databaseUrl: string, stop: AbortSignal): Promise<void> {
  const end = Date.now() + DATABASE_WAIT_MS
  for (let isReported = false; ; isReported = true) {
    try {
      await migrate(databaseUrl)
      return
    } catch (error) {
      if (error instanceof UnsuitableStoreError) throw UserError.of(error.message)
      if (!isDatabaseAway(error) || stop.aborted) throw error
      const reason = reasonOf(error)
      if (Date.now() > end)
        throw new UserError(
          `PostgreSQL at ${describeDatabaseUrl(databaseUrl)} cannot be reached (${reason}).`,
          'Check DATABASE_URL.',
        )
      if (!isReported) printLine(`Waiting for PostgreSQL at ${describeDatabaseUrl(databaseUrl)} (${reason})...`)
    }
    await sleep(300, undefined, { signal: stop })
  }
}

/** A URL without its password. */
function describeDatabaseUrl(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return searchParams.get('host') ?? `${host}${pathname}`
}

function printLine(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function runStep({ step, settings }: StepRequest, stop: AbortSignal): Promise<StepResult> {
  const { databaseUrl, redisUrl, httpPort } = settings
  try {
    const config = loadConfig({ ...environment, HTTP_PORT: String(httpPort) })
    await STEPS[step]({ ...config, databaseUrl, redisUrl }, stop)
    return { error: null }
  } catch (error) {
    const { name, message, stack = message } = error instanceof Error ? error : new Error(String(error))
    return { error: { name, message, stack } }
  }
}

process.title = 'bin/mailstead start (database)'
// after the terminal has closed, writes fail, but the steps go on
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
const stop = watchForStop()
process.once('disconnect', () => process.exit(0))
process.on('message', (request: StepRequest) => {
  void runStep(request, stop).then((result) => process.send?.(result))
})
