/**
 * `mailstead doctor`: checks this installation and says what is wrong and what to do. Changes nothing. All checks run,
 * whatever the others find; a check that throws or times out counts as failed. The exit code is 1 if a check failed;
 * warnings do not count.
 */
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withDatabase } from '#bin/cli/context.ts'
import { BACKUP } from '#bin/doctor/backup.ts'
import { BOUNCES } from '#bin/doctor/bounces.ts'
import { CLOCK, PROCESS_CLOCKS } from '#bin/doctor/clocks.ts'
import { type DoctorCheck, failed, type CheckResult, messageOf, type CheckContext } from '#bin/doctor/check.ts'
import { EGRESS } from '#bin/doctor/egress.ts'
import { guideOf, guideUrlOf } from '#bin/doctor/guides.ts'
import { HOSTED_MAIL } from '#bin/doctor/hosted-mail.ts'
import { LIVE } from '#bin/doctor/live.ts'
import { DISK, SENDING_MODE, NODE } from '#bin/doctor/machine.ts'
import { CHECKS_AT_ONCE, withDatabaseAccess } from '#bin/doctor/database-access.ts'
import { DKIM_KEYS } from '#bin/doctor/dkim-keys.ts'
import { NOTICES } from '#bin/doctor/notices.ts'
import { DNS } from '#bin/doctor/network.ts'
import { QUEUE_AGE, RETENTION } from '#bin/doctor/queue.ts'
import { REDIS, REDIS_AOF, REDIS_MEMORY } from '#bin/doctor/redis.ts'
import { OPERATOR_DKIM } from '#bin/doctor/operator-dkim.ts'
import { RETURN_PATH } from '#bin/doctor/return-path.ts'
import { CONNECTIONS, MASTER_KEY, MIGRATIONS, POSTGRES } from '#bin/doctor/stores.ts'
import { SUSPENSIONS } from '#bin/doctor/suspensions.ts'
import { DNSSEC, TLS_REPORTS } from '#bin/doctor/tls.ts'
import { SENDER_DMARC } from '#bin/doctor/sender-dmarc.ts'
import { attachStores } from '#bin/supervisor/stores.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { countText } from '#src/platform/plural.ts'

export const CHECKS: readonly DoctorCheck[] = [
  NODE,
  NOTICES,
  SUSPENSIONS,
  SENDING_MODE,
  DISK,
  POSTGRES,
  CONNECTIONS,
  MIGRATIONS,
  CLOCK,
  PROCESS_CLOCKS,
  MASTER_KEY,
  REDIS,
  REDIS_MEMORY,
  REDIS_AOF,
  DNS,
  DNSSEC,
  ...LIVE,
  QUEUE_AGE,
  RETENTION,
  BACKUP,
  BOUNCES,
  RETURN_PATH,
  SENDER_DMARC,
  DKIM_KEYS,
  OPERATOR_DKIM,
  TLS_REPORTS,
  HOSTED_MAIL,
  ...EGRESS,
]
const DEFAULT_TIMEOUT_MS = 10_000
const TRY_AGAIN =
  'run mailstead doctor again; if the check fails again, see the load and the logs of PostgreSQL and Redis'

const ACTION: CliAction = {
  summary: 'check this installation and report problems',
  examples: ['', '--json'],
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
        config,
      )
    }
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('doctor', ACTION, args, io)
}

function runDoctor(call: CommandCall, config: Config, databaseUrl: string): Promise<number> {
  return withDatabaseAccess(databaseUrl, async (access) =>
    report(call, await runChecks({ config, redisUrl: findRedisUrl(config), ...access }), config),
  )
}

function findRedisUrl(config: Config): string | null {
  try {
    return config.redisUrl ?? attachStores(config).redisUrl
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}

/** `guide`: the page that explains the check. */
type NamedResults = readonly (CheckResult & { readonly name: string; readonly guide: string })[]

async function runChecks(context: CheckContext): Promise<NamedResults> {
  const results: (CheckResult | undefined)[] = CHECKS.map(() => undefined)
  const waiting = CHECKS.entries()
  const runWaiting = async (): Promise<void> => {
    for (const [i, check] of waiting) results[i] = await runCheck(check, context)
  }
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, runWaiting))
  return CHECKS.flatMap(({ name }, i) => {
    const result = results[i]
    return result === undefined ? [] : [{ name, ...result, guide: guideOf(name) }]
  })
}

async function runCheck(check: DoctorCheck, context: CheckContext): Promise<CheckResult> {
  const { promise: late, resolve } = Promise.withResolvers<CheckResult>()
  const ms = check.withinMs ?? DEFAULT_TIMEOUT_MS
  const timer = setTimeout(() => resolve(failed(`no answer within ${ms / 1000} s`, TRY_AGAIN)), ms)
  try {
    return await Promise.race([check.run(context), late])
  } catch (error) {
    return failed(messageOf(error), TRY_AGAIN)
  } finally {
    clearTimeout(timer)
  }
}

function report(call: CommandCall, results: NamedResults, { publicUrl }: Config): number {
  const count = (status: CheckResult['status']): number => results.filter((one) => one.status === status).length
  const failures = count('failed')
  const rows = results.flatMap(({ status, name, detail, todo, guide }) => {
    const row = [status, name, detail]
    return todo === '' ? [row] : [row, ['', '', `→ ${todo} (${guide})`]]
  })
  const verdict = verdictOf(failures, count('warning'))
  const checks = results.map((result) => ({ ...result, guide_url: guideUrlOf(result.name, publicUrl) }))
  const where = `Guides: ${publicUrl}/docs/guides/going-live and the other pages that are named.`
  call.respond(`${tableText(['RESULT', 'CHECK', 'FINDING'], rows)}\n\n${where}\n\n${verdict}`, {
    ok: failures === 0,
    checks,
  })
  return failures === 0 ? 0 : 1
}

/** A warning is something to do: nothing below it may say that all is well. */
function verdictOf(failures: number, warnings: number): string {
  const failing = failures === 1 ? 'One check failed' : `${countText(failures, 'check')} failed`
  const warned = warnings === 1 ? 'one warning' : countText(warnings, 'warning')
  if (failures > 0 && warnings > 0) return `${failing}, and there ${warnings === 1 ? 'is' : 'are'} ${warned}.`
  if (failures > 0) return `${failing}.`
  return warnings > 0 ? `There ${warnings === 1 ? 'is' : 'are'} ${warned}: do what follows →.` : 'No check failed.'
}
