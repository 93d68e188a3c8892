/** `mailstead retention`: how long plans and workspaces store their mail, and whether anything is overdue. */
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import type { Queryable } from '#src/stores/db.ts'
import { readOverdue } from '#src/retention/overdue.ts'
import {
  defaultPeriods,
  deleteRule,
  listRules,
  PERIOD_NAMES,
  type PeriodName,
  problemWithDays,
  type RetentionRule,
  type RuleChange,
  type RuleSubject,
  saveRule,
} from '#src/retention/periods.ts'
import { countText } from '#src/platform/plural.ts'

const DAY_MS = 24 * 3600 * 1000

async function readSubject(db: Queryable, call: CommandCall): Promise<RuleSubject> {
  const [plan, workspace] = [call.option('plan'), call.option('workspace')]
  if ((plan === null) === (workspace === null)) throw new UsageError('give --plan or --workspace')
  return plan === null ? { workspaceId: (await requireWorkspace(db, workspace ?? '')).id } : { plan }
}

function readChange(call: CommandCall): RuleChange {
  const change: { [Name in PeriodName]?: number | null } = {}
  for (const name of PERIOD_NAMES) {
    const text = call.option(name)
    if (text === null) continue
    const days = text === 'default' ? null : /^\d+$/.test(text) ? Number(text) : Number.NaN
    const problem = days === null ? null : problemWithDays(name, days)
    if (problem !== null) throw new UsageError(`--${name} ${problem}, or \`default\``)
    change[name] = days
  }
  if (Object.keys(change).length === 0) throw new UsageError('give --bodies, --events or --messages')
  return change
}

function ruleCells({ plan, workspaceId, bodies, events, messages }: RetentionRule): string[] {
  const subject = plan === null ? `workspace ${workspaceId ?? ''}` : `plan ${plan}`
  return [subject, ...[bodies, events, messages].map((days) => (days === null ? '-' : String(days)))]
}

function ruleJson({ plan, workspaceId, bodies, events, messages }: RetentionRule): object {
  return { plan, workspace_id: workspaceId, bodies_days: bodies, events_days: events, messages_days: messages }
}

const ACTIONS: CliActions = {
  list: {
    summary: 'list the periods of the settings, of plans and of workspaces, and what is overdue',
    examples: ['list', 'list --json'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db, config, clock }) => {
        const defaults = defaultPeriods(config)
        const rules = await listRules(db)
        const overdue = await readOverdue(db, defaults, clock.now())
        const rows = [['settings', ...PERIOD_NAMES.map((name) => String(defaults[name]))], ...rules.map(ruleCells)]
        const late = overdue
          .filter(({ lateMs }) => lateMs > 0)
          .map(({ what, lateMs }) => `Overdue: ${what}, by ${countText(Math.ceil(lateMs / DAY_MS), 'day')}.`)
        const text = [tableText(['DAYS OF', 'BODIES', 'EVENTS', 'MESSAGES'], rows), ...late]
        if (late.length === 0) text.push('Nothing is overdue.')
        return call.respond(text.join('\n'), {
          settings: { bodies_days: defaults.bodies, events_days: defaults.events, messages_days: defaults.messages },
          rules: rules.map(ruleJson),
          overdue: overdue.map(({ period, lateMs, what }) => ({
            data: period,
            seconds: Math.round(lateMs / 1000),
            what,
          })),
        })
      }),
  },
  set: {
    summary: 'set how many days a plan or a workspace stores bodies, events and messages',
    examples: ['set --plan launch --bodies 60', 'set --workspace Acme --events 30 --messages default'],
    usage: 'set --plan P|--workspace W [--bodies DAYS] [--events DAYS] [--messages DAYS]',
    options: ['plan', 'workspace', ...PERIOD_NAMES],
    about: {
      plan: 'all workspaces of this plan that have no rule of their own',
      bodies: 'texts and attachments of mail that was sent; `default`: as the plan or the setting says',
      events: 'events and SMTP dialogs',
      messages: 'senders, recipients, subjects and results',
    },
    run: (call) => {
      const change = readChange(call)
      return withContext(call.io, async ({ db }) => {
        const rule = await saveRule(db, await readSubject(db, call), change)
        const table = tableText(['DAYS OF', 'BODIES', 'EVENTS', 'MESSAGES'], [ruleCells(rule)])
        return call.respond(`${table}\nThe worker applies it to stored mail within the day.`, ruleJson(rule))
      })
    },
  },
  unset: {
    summary: 'remove the rule of a plan or a workspace',
    examples: ['unset --plan launch'],
    usage: 'unset --plan P|--workspace W',
    options: ['plan', 'workspace'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const subject = await readSubject(db, call)
        if (!(await deleteRule(db, subject)))
          return call.fail('There is no such rule.', 'See mailstead retention list.')
        return call.respond('The rule is removed.', {
          removed: true,
          ...('plan' in subject ? subject : { workspace_id: subject.workspaceId }),
        })
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('retention', ACTIONS, args, io)
}
