/**
 * `mailstead doctor`: looks at this installation and says what is wrong and what to do. Nothing is changed. Every check is made, whatever
 * the others found; one that throws or takes too long has failed. Exit code 1 when a check failed; a warning is no failure.
 */
import { pino } from 'pino'
import { type Action, type Call, type Io, runAction } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { placeOf, withDatabase } from '#bin/cli/context.ts'
import { BOUNCES } from '#bin/doctor/bounces.ts'
import { type Check, failed, type Finding, messageOf, type Patient } from '#bin/doctor/check.ts'
import { EGRESS } from '#bin/doctor/egress.ts'
import { DISK, MODE, NODE } from '#bin/doctor/machine.ts'
import { NOTICES } from '#bin/doctor/notices.ts'
import { DNS, WAY_OUT } from '#bin/doctor/network.ts'
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
import { Trouble } from '#bin/supervisor/user-error.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { openDb } from '#src/stores/db.ts'

const CHECKS: readonly Check[] = [
  NODE,
  NOTICES,
  SUSPENSIONS,
  MODE,
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
  WAY_OUT,
  BOUNCES,
  TLS_REPORTS,
  ...EGRESS,
]
const WITHIN_MS = 10_000

const ACTION: Action = {
  usage: '',
  run: async (call) => {
    const config = loadConfig(call.io.env)
    try {
      return await withDatabase(config, call.io, (databaseUrl) => examine(call, config, databaseUrl))
    } catch (error) {
      if (!(error instanceof Trouble)) throw error
      return report(call, await lookAll({ config, db: null, redisUrl: config.redisUrl, trouble: error.message }))
    }
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('doctor', ACTION, args, io)
}

async function examine(call: Call, config: Config, databaseUrl: string): Promise<number> {
  const db = openDb(databaseUrl, pino({ level: 'silent' }), 2)
  try {
    const problem = await db.query('SELECT 1').then(() => null, messageOf)
    const trouble = `PostgreSQL at ${placeOf(databaseUrl)} cannot be reached (${problem ?? ''})`
    return report(
      call,
      await lookAll({ config, db: problem === null ? db : null, redisUrl: redisUrlOf(config), trouble }),
    )
  } finally {
    await db.close()
  }
}

function redisUrlOf(config: Config): string | null {
  try {
    return config.redisUrl ?? attachStores(config).redisUrl
  } catch (error) {
    if (error instanceof Trouble) return null
    throw error
  }
}

type Findings = readonly (Finding & { readonly name: string })[]

async function lookAll(patient: Patient): Promise<Findings> {
  return Promise.all(CHECKS.map(async (check) => ({ name: check.name, ...(await lookOnce(check, patient)) })))
}

async function lookOnce(check: Check, patient: Patient): Promise<Finding> {
  const { promise: late, resolve } = Promise.withResolvers<Finding>()
  const ms = check.withinMs ?? WITHIN_MS
  const timer = setTimeout(
    () => resolve(failed(`no answer within ${ms / 1000} s`, 'look at the load and the logs of what was asked')),
    ms,
  )
  try {
    return await Promise.race([check.look(patient), late])
  } catch (error) {
    return failed(messageOf(error), 'look at the logs of what was asked')
  } finally {
    clearTimeout(timer)
  }
}

function report(call: Call, findings: Findings): number {
  const failures = findings.filter((finding) => finding.status === 'failed').length
  const rows = findings.flatMap(({ status, name, detail, todo }) => {
    const row = [status, name, detail]
    return todo === '' ? [row] : [row, ['', '', `→ ${todo}`]]
  })
  const verdict =
    failures === 0 ? 'Nothing is wrong.' : failures === 1 ? 'One thing is wrong.' : `${failures} things are wrong.`
  call.answer(`${tableText(['', 'CHECK', ''], rows)}\n\n${verdict}`, { ok: failures === 0, checks: findings })
  return failures === 0 ? 0 : 1
}
