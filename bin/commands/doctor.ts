/**
 * `mailstead doctor`: checks this installation and says what is wrong and what to do. Changes nothing. All checks run,
 * whatever the others find; a check that throws or times out counts as failed. The exit code is 1 if a check failed;
 * warnings do not count.
 */
import { pino } from 'pino'
import { type CliAction, type CommandCall, type CommandIo, runAction } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { describeDatabaseUrl, withDatabase } from '#bin/cli/context.ts'
import { BOUNCES } from '#bin/doctor/bounces.ts'
import { type DoctorCheck, failed, type CheckResult, messageOf, type CheckContext } from '#bin/doctor/check.ts'
import { EGRESS } from '#bin/doctor/egress.ts'
import { DISK, SENDING_MODE, NODE } from '#bin/doctor/machine.ts'
import { NOTICES } from '#bin/doctor/notices.ts'
import { DNS, OUTBOUND_SMTP } from '#bin/doctor/network.ts'
import {
  CLOCK,
  CONNECTIONS,
  MASTER_KEY,
  MIGRATIONS,
  POSTGRES,
  REDIS,
  REDIS_AOF,
  REDIS_MEMORY,
} from '#bin/doctor/stores.ts'
import { SUSPENSIONS } from '#bin/doctor/suspensions.ts'
import { DNSSEC, TLS_REPORTS } from '#bin/doctor/tls.ts'
import { attachStores } from '#bin/supervisor/stores.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { openDb } from '#src/stores/db.ts'

const CHECKS: readonly DoctorCheck[] = [
  NODE,
  NOTICES,
  SUSPENSIONS,
  SENDING_MODE,
  DISK,
  POSTGRES,
  CONNECTIONS,
  MIGRATIONS,
  CLOCK,
  MASTER_KEY,
  REDIS,
  REDIS_MEMORY,
  REDIS_AOF,
  DNS,
  DNSSEC,
  OUTBOUND_SMTP,
  BOUNCES,
  TLS_REPORTS,
  ...EGRESS,
]
const DEFAULT_TIMEOUT_MS = 10_000
/** A person waits for the result, and a store that takes longer for these statements is a finding. */
const PATIENCE_MS = { urgent: 5000, normal: 5000, bulk: 5000 }

const ACTION: CliAction = {
  usage: '',
  run: async (call) => {
    const config = loadConfig(call.io.env)
    try {
      return await withDatabase(config, call.io, (databaseUrl) => runDoctor(call, config, databaseUrl))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      return report(
        call,
        await runChecks({ config, db: null, redisUrl: config.redisUrl, databaseError: error.message }),
      )
    }
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('doctor', ACTION, args, io)
}

async function runDoctor(call: CommandCall, config: Config, databaseUrl: string): Promise<number> {
  const db = openDb(databaseUrl, pino({ level: 'silent' }), 2, PATIENCE_MS)
  try {
    const problem = await db.query('SELECT 1').then(() => null, messageOf)
    const trouble = `PostgreSQL at ${describeDatabaseUrl(databaseUrl)} cannot be reached (${problem ?? ''})`
    return report(
      call,
      await runChecks({
        config,
        db: problem === null ? db : null,
        redisUrl: findRedisUrl(config),
        databaseError: trouble,
      }),
    )
  } finally {
    await db.close()
  }
}

function findRedisUrl(config: Config): string | null {
  try {
    return config.redisUrl ?? attachStores(config).redisUrl
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}

type NamedResults = readonly (CheckResult & { readonly name: string })[]

async function runChecks(context: CheckContext): Promise<NamedResults> {
  return Promise.all(CHECKS.map(async (check) => ({ name: check.name, ...(await runCheck(check, context)) })))
}

async function runCheck(check: DoctorCheck, context: CheckContext): Promise<CheckResult> {
  const { promise: late, resolve } = Promise.withResolvers<CheckResult>()
  const ms = check.withinMs ?? DEFAULT_TIMEOUT_MS
  const timer = setTimeout(
    () => resolve(failed(`no answer within ${ms / 1000} s`, 'check the load and the log of that service')),
    ms,
  )
  try {
    return await Promise.race([check.run(context), late])
  } catch (error) {
    return failed(messageOf(error), 'check the log of that service')
  } finally {
    clearTimeout(timer)
  }
}

function report(call: CommandCall, results: NamedResults): number {
  const failures = results.filter((finding) => finding.status === 'failed').length
  const rows = results.flatMap(({ status, name, detail, todo }) => {
    const row = [status, name, detail]
    return todo === '' ? [row] : [row, ['', '', `→ ${todo}`]]
  })
  const verdict =
    failures === 0 ? 'No check failed.' : failures === 1 ? 'One check failed.' : `${failures} checks failed.`
  call.respond(`${tableText(['', 'CHECK', ''], rows)}\n\n${verdict}`, { ok: failures === 0, checks: results })
  return failures === 0 ? 0 : 1
}
