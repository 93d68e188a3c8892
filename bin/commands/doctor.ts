/**
 * `mailstead doctor`: checks this installation and says what is wrong and what to do. Changes nothing. All checks run,
 * whatever the others find; a check that throws or times out counts as failed. The exit code is 1 if a check failed;
 * warnings do not count.
 */
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withDatabase } from '#bin/cli/context.ts'
import type { DoctorFinding } from '#src/doctor/check.ts'
import { commandChecks } from '#src/doctor/checks.ts'
import { guideUrlOf } from '#src/doctor/guides.ts'
import { type NamedResult, runChecks } from '#src/doctor/run-checks.ts'
import { withDatabaseAccess } from '#bin/doctor/database-access.ts'
import { DNSSEC, TLS_REPORTS } from '#bin/doctor/tls.ts'
import { attachStores } from '#bin/supervisor/stores.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { countText } from '#src/platform/plural.ts'

export const CHECKS = commandChecks({ dnssec: DNSSEC, tlsReports: TLS_REPORTS })

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
        await runChecks(CHECKS, { config, db: null, redisUrl: config.redisUrl, databaseError: error.message }),
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
    report(call, await runChecks(CHECKS, { config, redisUrl: findRedisUrl(config), ...access }), config),
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

function report(call: CommandCall, results: readonly NamedResult[], { publicUrl }: Config): number {
  const count = (status: DoctorFinding['status']): number => results.filter((one) => one.status === status).length
  const failures = count('failed')
  const rows = results.flatMap(({ status, name, detail, todo, guide }) => {
    const row = [status, name, detail]
    return todo === '' ? [row] : [row, ['', '', `→ ${todo} (${guide})`]]
  })
  const verdict = verdictOf(failures, count('warning'))
  const checks = results.map(({ name, status, detail, todo, guide }) => ({
    name,
    status,
    detail,
    todo,
    guide,
    guide_url: guideUrlOf(name, publicUrl),
  }))
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
