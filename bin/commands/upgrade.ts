/**
 * `mailstead upgrade`: shows what an upgrade to this version does (`--plan`), migrates the database without stopping
 * mail, says in which order to replace the roles, and finishes when no earlier version runs any more. Each part can be
 * interrupted and run again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { runAction } from '#bin/cli/actions.ts'
import { type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { explainDatabase, withDatabase } from '#bin/cli/context.ts'
import { countText } from '#src/platform/plural.ts'
import { loadConfig } from '#config/load.ts'
import { isFinished, planUpgrade, type PlannedMigration, type UpgradePlan } from '#src/operator/upgrade-plan.ts'
import { openLog } from '#src/platform/log.ts'
import { softwareVersion } from '#src/platform/version.ts'
import { openDb } from '#src/stores/db.ts'
import { migrate, undoMigrations } from '#src/stores/migrate.ts'
import { listMigrations } from '#src/stores/migrations.ts'

/** There is something to do. */
const PENDING = 3
const POLL_MS = 2000

function readPlan(databaseUrl: string): Promise<UpgradePlan> {
  const db = openDb(databaseUrl, openLog({ logLevel: 'silent' }, 'upgrade'), 1)
  return planUpgrade(db, softwareVersion()).finally(() => db.close())
}

function describePlan(plan: UpgradePlan): string {
  const { version, migrations, processes, replace, problems, warnings } = plan
  if (isFinished(plan)) return [`Everything is at version ${version}.`, ...warnings].join('\n')
  return [
    `Upgrade to ${version}`,
    ...problems.map((text) => `Not possible: ${text}.`),
    ...warnings.map((text) => `Note: ${text}.`),
    ...section(
      'Processes',
      processes.map(
        ({ node, roles, version: running, isSilent }) =>
          `${node}  ${roles.join('+')}  ${running}${isSilent ? '  (silent)' : ''}`,
      ),
    ),
    ...section(
      `1. Migrate: mailstead upgrade (${countText(migrations.length, 'migration')})`,
      migrations.flatMap((one) => describeMigration(one, plan.measuredRows)),
    ),
    ...section('2. Replace the roles, in this order', replace.length === 0 ? [] : [replace.join(', ')]),
    ...section(
      '3. Contract: mailstead upgrade --wait, or mailstead upgrade once more',
      migrations.filter(({ phase }) => phase === 'contract').map(({ migration }) => migration),
    ),
  ].join('\n')
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', title, ...lines.map((line) => `   ${line}`)]

function describeMigration(one: PlannedMigration, rows: number | null): string[] {
  const blocks =
    one.blocksMs === null || rows === null
      ? 'it blocks for at most 0.7 s and is then tried again'
      : `blocks ${one.blocksMs < 10 ? 'less than 10' : one.blocksMs} ms, runs for ${one.tookSeconds} s ` +
        `(measured at ${countText(rows, 'row')})`
  const wayBack =
    one.cannotUndo ??
    `can be undone${one.undoDeletes.length === 0 ? '' : `; that deletes ${one.undoDeletes.join(', ')}`}`
  return [
    `${one.migration}  ${one.phase}, ${blocks}`,
    ...one.steps.filter(({ isLong }) => isLong).map(({ text }) => `   in the background: ${text}`),
    ...(one.isOneStep ? ['   one step: it may ask for a stop of all roles on a large database'] : []),
    ...(one.waitsFor.length === 0 ? [] : [`   waits for the end of processes of ${one.waitsFor.join(', ')}`]),
    ...(one.phase === 'contract' ? ['   after it, no earlier version starts on this database'] : []),
    `   ${wayBack}`,
  ]
}

async function showPlan(call: CommandCall, databaseUrl: string): Promise<number> {
  const plan = await readPlan(databaseUrl)
  call.respond(describePlan(plan), planJson(plan))
  if (plan.problems.length > 0) return 1
  return isFinished(plan) ? 0 : PENDING
}

function planJson(plan: UpgradePlan): object {
  return {
    version: plan.version,
    is_finished: isFinished(plan),
    problems: plan.problems,
    warnings: plan.warnings,
    processes: plan.processes.map(({ isSilent, ...one }) => ({ ...one, is_silent: isSilent })),
    measured_rows: plan.measuredRows,
    migrations: plan.migrations.map((one) => ({
      migration: one.migration,
      phase: one.phase,
      is_one_step: one.isOneStep,
      blocks_ms: one.blocksMs,
      took_seconds: one.tookSeconds,
      steps: one.steps.map(({ text, isLong }) => ({ text, is_long: isLong })),
      cannot_undo: one.cannotUndo,
      undo_deletes: one.undoDeletes,
      waits_for: one.waitsFor,
    })),
    replace_roles: plan.replace,
  }
}

/** Migrates, and with --wait until the last process of an earlier version has ended. */
async function upgrade(call: CommandCall, databaseUrl: string): Promise<number> {
  const before = await readPlan(databaseUrl)
  if (before.problems.length > 0)
    return call.fail(`${before.problems.join('\n')}\n`, 'See mailstead upgrade --plan, and docs/guides/upgrading.md.')
  const say = (line: string): void => call.io.err(`${line}\n`)
  const applied: string[] = []
  let reported = ''
  for (;;) {
    const result = await migrate(databaseUrl, {
      say,
      onStep: ({ migration, step, index, of }) => say(`${migration.replace(/\.ts$/, '')}: ${index} of ${of}: ${step}`),
    })
    applied.push(...result.applied)
    const plan = await readPlan(databaseUrl)
    const rest = describeRest(plan)
    if (isFinished(plan) || !call.has('wait')) {
      const text = `${countText(applied.length, 'migration')} applied. ${rest}`
      call.respond(text, { applied, waiting: result.waiting, ...planJson(plan) })
      return isFinished(plan) ? 0 : PENDING
    }
    if (rest !== reported) say(rest)
    reported = rest
    await sleep(POLL_MS)
  }
}

function describeRest(plan: UpgradePlan): string {
  if (isFinished(plan)) return `Everything is at version ${plan.version}.`
  const old = plan.processes.filter(({ version }) => version !== plan.version)
  return `Replace the roles of other versions, in this order: ${plan.replace.join(', ')} (${old
    .map(({ node, version }) => `${node}: ${version}`)
    .join('; ')}). Then run mailstead upgrade once more.`
}

/** Undoes the migrations after the given one. Roles of this version need them, so none may run. */
async function undo(call: CommandCall, databaseUrl: string, after: string): Promise<number> {
  const names = listMigrations()
  const last = names.find((name) => name === `${after}.ts` || name === after)
  if (last === undefined) throw new UsageError(`--undo-to: no migration is called ${after}`)
  const plan = await readPlan(databaseUrl)
  const running = plan.processes.filter(({ isSilent }) => !isSilent)
  if (running.length > 0)
    return call.fail(
      `${countText(running.length, 'process runs and needs', 'processes run and need')} these migrations. ` +
        'Going back to the previous minor version needs no undo.',
      'Stop all roles first to undo them nevertheless.',
    )
  if (!call.has('yes')) return call.fail('Undoing migrations deletes data.', 'See mailstead upgrade --plan. Add --yes.')
  const undone = await undoMigrations(databaseUrl, last)
  return call.respond(`Undone: ${undone.join(', ') || 'nothing'}.`, { undone })
}

const ACTION: CliAction = {
  summary: 'plan an upgrade, migrate without stopping mail, and finish it',
  examples: ['--plan', '--plan --json', '', '--wait', '--undo-to 056-live-checks --yes'],
  usage: '[--plan | --wait | --undo-to MIGRATION --yes]',
  flags: ['plan', 'wait', 'yes'],
  options: ['undo-to'],
  about: {
    plan: 'show what would be done and change nothing; exit code 0: nothing to do, 3: something, 1: not possible',
    wait: 'wait until no process of another version runs, and finish',
    yes: 'undo the migrations, which deletes data',
  },
  run: (call) =>
    withDatabase(loadConfig(call.io.env), call.io, async (databaseUrl) => {
      const after = call.option('undo-to')
      try {
        if (call.has('plan')) return await showPlan(call, databaseUrl)
        return after === null ? await upgrade(call, databaseUrl) : await undo(call, databaseUrl, after)
      } catch (error) {
        throw explainDatabase(error, databaseUrl)
      }
    }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('upgrade', ACTION, args, io)
}
