/**
 * `mailstead queue`: shows the open mail of this installation, and retries, drops, suspends and resumes it. Filters
 * combine; without one an action applies to all mail. The endpoints below /admin call the same functions. A long action
 * reports its progress; the worker completes one that is interrupted.
 */
import { countText } from '#src/platform/plural.ts'
import { timeText } from '#src/platform/time-text.ts'
import { operatorName } from '#bin/cli/operator-name.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { FILTER_USAGE, FILTERS, readFilter, readSuspensionTarget, readUntil } from '#bin/queue/filter-options.ts'
import { VIEW_ACTIONS } from '#bin/queue/view-actions.ts'
import type { Context } from '#src/context.ts'
import { continueAction, beginAction, MAIL_VERBS, type MailVerb } from '#src/operator/actions.ts'
import { findAction, recordAction } from '#src/operator/action-log.ts'
import { resumeReceiver } from '#src/shaping/receiver-suspensions.ts'
import { resume, suspend, SUSPENDABLE, type SuspensionTarget } from '#src/queue/suspensions.ts'
import { waitUntilReady } from '#src/stores/redis.ts'

const SUSPENDABLE_USAGE = `DOMAIN|'*'|--site S|--workspace W|--campaign C`
const REDIS_WAIT_MS = 2000

/** Without Redis the change is stored, but takes effect later; prints that on stderr. */
async function notifyRedis(ctx: Context, call: CommandCall): Promise<void> {
  if (!(await waitUntilReady(ctx.redis, REDIS_WAIT_MS)))
    call.io.err('Redis does not answer; the change takes effect when it does.\n')
}

/** Runs an action on mail to its end and prints its progress on stderr. */
async function applyAction(call: CommandCall, verb: MailVerb): Promise<number> {
  return withContext(call.io, async (ctx) => {
    const filter = await readFilter(call, ctx)
    await notifyRedis(ctx, call)
    const reason = call.option('reason') ?? MAIL_VERBS[verb].defaultReason
    const { id } = await beginAction(ctx, { verb, filter, reason, by: operatorName() })
    const progress = call.progress()
    let [seen, moved] = [0, 0]
    await continueAction(ctx, id, Infinity, (slice, done) => {
      seen += slice
      moved += done
      progress.report(null, `${countText(seen, 'recipient')} checked, ${moved} changed`)
    }).finally(() => progress.end())
    const action = await findAction(ctx.db, id)
    return call.respond(`${countText(action?.moved ?? moved, 'recipient')}: ${MAIL_VERBS[verb].summary}.`, {
      action: id,
      state: action?.state,
      moved: action?.moved,
      [MAIL_VERBS[verb].done]: action?.moved,
    })
  })
}

const shown = ({ kind, subject }: SuspensionTarget): string =>
  kind === 'domain' ? (subject === '*' ? 'All mail' : `Mail to ${subject}`) : `Mail of the ${kind} ${subject}`

/** The arguments of `resume`, quoted for a shell. */
const named = ({ kind, subject }: SuspensionTarget): string =>
  kind === 'domain' ? (subject === '*' ? `'*'` : subject) : `--${kind} ${subject}`

/** Resumes a receiver that a reply rule suspended (docs/guides/traffic-shaping.md). */
async function resumeSuspendedReceiver(ctx: Context, call: CommandCall, receiver: string): Promise<number> {
  await notifyRedis(ctx, call)
  if ((await resumeReceiver(ctx, receiver)) === 0)
    return call.fail(`The receiver ${receiver} is not suspended.`, 'See mailstead queue status.')
  await recordAction(ctx, { verb: 'resume', subject: { receiver }, reason: '', by: operatorName() }, 'done')
  return call.respond(`Mail to ${receiver} is sent again.`, { resumed: receiver, kind: 'receiver' })
}

const ACTIONS: Readonly<Record<string, CliAction>> = {
  status: VIEW_ACTIONS.status,
  count: VIEW_ACTIONS.count,
  list: VIEW_ACTIONS.list,
  retry: {
    summary: 'retry mail now',
    examples: ['retry --domain example.com'],
    usage: `retry ${FILTER_USAGE} [--reason WHY]`,
    options: [...FILTERS, 'reason'],
    run: (call) => applyAction(call, 'retry'),
  },
  drop: {
    summary: 'cancel mail for good',
    examples: ["drop --campaign 01a2030f-9f42-7000-bd8c-d55ffa802841 --yes --reason 'wrong list'"],
    usage: `drop ${FILTER_USAGE} --yes [--bounce] [--reason WHY]`,
    options: [...FILTERS, 'reason'],
    flags: ['yes', 'bounce'],
    run: (call) => {
      if (!call.has('yes'))
        throw new UsageError('dropped mail cannot be restored: check with `queue list` first, then add --yes')
      return applyAction(call, call.has('bounce') ? 'bounce' : 'drop')
    },
  },
  suspend: {
    summary: 'hold mail until it is resumed',
    examples: [
      "suspend example.com --reason 'their postmaster asked'",
      'suspend --workspace Acme --until 2031-05-04T10:00:00Z',
      'suspend --workspace Acme --mail-only # its keys and links work',
      "suspend '*' # all mail",
    ],
    usage: `suspend ${SUSPENDABLE_USAGE} [--mail-only] [--reason WHY] [--until TIME]`,
    options: [...SUSPENDABLE, 'reason', 'until'],
    flags: ['mail-only'],
    arguments: [0, 1],
    run: (call) => {
      const until = readUntil(call)
      return withContext(call.io, async (ctx) => {
        const stopped = await readSuspensionTarget(call, ctx)
        const reason = call.option('reason') ?? 'suspended by the operator'
        await notifyRedis(ctx, call)
        const scope = stopped.kind === 'workspace' && !call.has('mail-only') ? 'all' : 'mail'
        await suspend(ctx, { ...stopped, scope }, reason, until)
        await recordAction(
          ctx,
          { verb: 'suspend', subject: { [stopped.kind]: stopped.subject }, reason, by: operatorName() },
          'done',
        )
        const end = until === null ? `you resume it: mailstead queue resume ${named(stopped)}` : timeText(until)
        const all = scope === 'all' ? `; its keys, links and pages are closed (--mail-only: only the mail)` : ''
        return call.respond(`${shown(stopped)} waits until ${end}${all}`, {
          suspended: stopped.subject,
          kind: stopped.kind,
          scope,
          until,
        })
      })
    },
  },
  resume: {
    summary: 'send suspended mail again',
    examples: ['resume example.com', 'resume --receiver gmail'],
    usage: `resume ${SUSPENDABLE_USAGE}|--receiver NAME`,
    options: [...SUSPENDABLE, 'receiver'],
    arguments: [0, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const receiver = call.option('receiver')
        if (receiver !== null) return resumeSuspendedReceiver(ctx, call, receiver)
        const stopped = await readSuspensionTarget(call, ctx)
        await notifyRedis(ctx, call)
        if (!(await resume(ctx, stopped)))
          return call.fail(`${stopped.subject} is not suspended.`, 'See mailstead queue status.')
        await recordAction(
          ctx,
          { verb: 'resume', subject: { [stopped.kind]: stopped.subject }, reason: '', by: operatorName() },
          'done',
        )
        return call.respond(`${shown(stopped)} is sent again.`, { resumed: stopped.subject, kind: stopped.kind })
      }),
  },
  actions: VIEW_ACTIONS.actions,
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('queue', ACTIONS, args, io)
}
