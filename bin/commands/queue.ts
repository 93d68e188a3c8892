/**
 * `mailstead queue`: shows the open mail of this installation, and retries, drops, suspends and resumes it. Filters
 * combine; without one an action applies to all mail. The endpoints below /admin call the same functions. A long action
 * reports its progress; the worker completes one that is interrupted.
 */
import { userInfo } from 'node:os'
import { type Action, type Call, type Io, runActions, UsageError } from '#bin/cli/actions.ts'
import { withContext } from '#bin/cli/context.ts'
import { FILTER_USAGE, FILTERS, filterOf, stoppedOf, untilOf } from '#bin/queue/filter-options.ts'
import { VIEW_ACTIONS } from '#bin/queue/view-actions.ts'
import type { Context } from '#src/context.ts'
import { continueAction, beginAction, MAIL_VERBS, type MailVerb } from '#src/operator/actions.ts'
import { findAction, recordAction } from '#src/operator/audit-log.ts'
import { resumeReceiver } from '#src/shaping/receiver-suspensions.ts'
import { resume, suspend, SUSPENDABLE, type SuspensionTarget } from '#src/queue/suspensions.ts'
import { waitUntilReady } from '#src/stores/redis.ts'

const STOPPED_USAGE = `DOMAIN|'*'|--site S|--workspace W|--campaign C`
const REDIS_WAIT_MS = 2000
/** Between two lines about how far it is. */
const TELL_MS = 2000

/** Without Redis the change is stored all the same, and heard a little later: said on stderr. */
async function tellRedis(ctx: Context, call: Call): Promise<void> {
  if (!(await waitUntilReady(ctx.redis, REDIS_WAIT_MS)))
    call.io.err('Redis does not answer; the change takes effect when it does.\n')
}

function operatorName(): string {
  try {
    return `command line, ${userInfo().username}`
  } catch {
    return 'command line' // a user id without a name
  }
}

/** One action on mail, to its end, with its progress on stderr. */
async function act(call: Call, verb: MailVerb): Promise<number> {
  return withContext(call.io, async (ctx) => {
    const filter = await filterOf(call, ctx)
    await tellRedis(ctx, call)
    const reason = call.option('reason') ?? MAIL_VERBS[verb].defaultReason
    const { id } = await beginAction(ctx, { verb, filter, reason, by: operatorName() })
    let [seen, moved, toldAt] = [0, 0, performance.now()]
    await continueAction(ctx, id, Infinity, (slice, done) => {
      seen += slice
      moved += done
      if (performance.now() - toldAt < TELL_MS) return
      toldAt = performance.now()
      call.io.err(`${seen} looked at, ${moved} moved\n`)
    })
    const action = await findAction(ctx.db, id)
    return call.answer(`${action?.moved ?? moved} recipients: ${MAIL_VERBS[verb].summary}.`, {
      action: id,
      state: action?.state,
      moved: action?.moved,
      [MAIL_VERBS[verb].done]: action?.moved,
    })
  })
}

const shown = ({ kind, subject }: SuspensionTarget): string =>
  kind === 'domain' ? (subject === '*' ? 'All mail' : `Mail to ${subject}`) : `Mail of the ${kind} ${subject}`

/** How it is named to `resume`, ready for a shell. */
const named = ({ kind, subject }: SuspensionTarget): string =>
  kind === 'domain' ? (subject === '*' ? `'*'` : subject) : `--${kind} ${subject}`

/** One that a rule about its replies has stopped (docs/guides/traffic-shaping.md). */
async function letReceiverGo(ctx: Context, call: Call, receiver: string): Promise<number> {
  await tellRedis(ctx, call)
  if ((await resumeReceiver(ctx, receiver)) === 0)
    return call.fail(`The receiver ${receiver} is not suspended; mailstead queue status lists what is.`)
  await recordAction(ctx, { verb: 'resume', subject: { receiver }, reason: '', by: operatorName() }, 'done')
  return call.answer(`Mail to ${receiver} goes out again.`, { resumed: receiver, kind: 'receiver' })
}

const ACTIONS: Readonly<Record<string, Action>> = {
  status: VIEW_ACTIONS.status,
  count: VIEW_ACTIONS.count,
  list: VIEW_ACTIONS.list,
  retry: {
    usage: `retry ${FILTER_USAGE} [--reason WHY]`,
    options: [...FILTERS, 'reason'],
    run: (call) => act(call, 'retry'),
  },
  drop: {
    usage: `drop ${FILTER_USAGE} --yes [--bounce] [--reason WHY]`,
    options: [...FILTERS, 'reason'],
    flags: ['yes', 'bounce'],
    run: (call) => {
      if (!call.has('yes'))
        throw new UsageError('dropped mail is gone for good: look with `queue list` first, then say --yes')
      return act(call, call.has('bounce') ? 'bounce' : 'drop')
    },
  },
  suspend: {
    usage: `suspend ${STOPPED_USAGE} [--reason WHY] [--until TIME]`,
    options: [...SUSPENDABLE, 'reason', 'until'],
    words: [0, 1],
    run: (call) => {
      const until = untilOf(call)
      return withContext(call.io, async (ctx) => {
        const stopped = await stoppedOf(call, ctx)
        const reason = call.option('reason') ?? 'suspended by the operator'
        await tellRedis(ctx, call)
        await suspend(ctx, stopped, reason, until)
        await recordAction(
          ctx,
          { verb: 'suspend', subject: { [stopped.kind]: stopped.subject }, reason, by: operatorName() },
          'done',
        )
        const end = until === null ? `it is resumed: mailstead queue resume ${named(stopped)}` : until.toISOString()
        return call.answer(`${shown(stopped)} waits until ${end}`, {
          suspended: stopped.subject,
          kind: stopped.kind,
          until,
        })
      })
    },
  },
  resume: {
    usage: `resume ${STOPPED_USAGE}|--receiver NAME`,
    options: [...SUSPENDABLE, 'receiver'],
    words: [0, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const receiver = call.option('receiver')
        if (receiver !== null) return letReceiverGo(ctx, call, receiver)
        const stopped = await stoppedOf(call, ctx)
        await tellRedis(ctx, call)
        if (!(await resume(ctx, stopped)))
          return call.fail(`${stopped.subject} is not suspended; mailstead queue status lists what is.`)
        await recordAction(
          ctx,
          { verb: 'resume', subject: { [stopped.kind]: stopped.subject }, reason: '', by: operatorName() },
          'done',
        )
        return call.answer(`${shown(stopped)} goes out again.`, { resumed: stopped.subject, kind: stopped.kind })
      }),
  },
  actions: VIEW_ACTIONS.actions,
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('queue', ACTIONS, args, io)
}
