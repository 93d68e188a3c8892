/**
 * `mailstead queue`: the open mail of this installation, and the operator's hand on it. Filters go together; none means all. The endpoints
 * below /admin do the same by the same functions. A long action says how far it is; what is stopped half way, the worker goes on with.
 */
import { userInfo } from 'node:os'
import { type Action, type Call, type Io, lineText, runActions, tableText, UsageError } from '#bin/cli.ts'
import { withContext } from '#bin/cli-context.ts'
import type { Context } from '#src/context.ts'
import type { Detail } from '#src/errors.ts'
import { hexOf } from '#src/id.ts'
import { COUNTED_BY_NAMES, countOpen, countTiers, listOpen, type QueueFilter } from '#src/messages/queue-view.ts'
import { readMoment } from '#src/moment.ts'
import { advance, beginAction, MAIL_VERBS, type MailVerb } from '#src/operator/actions.ts'
import { FILTER_FIELDS, readFilter, readStopped, type FilterField, type GivenFilter } from '#src/operator/filter.ts'
import { findAction, listActions, recordAction } from '#src/operator/record.ts'
import { fromText } from '#src/shaping/pace-key.ts'
import { listReceiverSuspensions, resumeReceiver } from '#src/shaping/receiver-suspensions.ts'
import { listSuspensions, resume, suspend, SUSPENDABLE, type Stopped } from '#src/queue/suspensions.ts'
import { whenReady } from '#src/redis.ts'

const optionOf = (field: string): string => field.replaceAll('_', '-')
const FIELDS = Object.keys(FILTER_FIELDS) as FilterField[]
const FILTERS = FIELDS.map(optionOf)
const FILTER_USAGE = FILTERS.map((name) => `[--${name} ${name[0]?.toUpperCase() ?? ''}]`).join(' ')
const STOPPED_USAGE = `DOMAIN|'*'|--site S|--workspace W|--campaign C`
const USUAL_LIMIT = 50
const MAX_LIMIT = 100_000
const REDIS_WAIT_MS = 2000
/** Between two lines about how far it is. */
const TELL_MS = 2000

function given(call: Call): GivenFilter {
  const entries = FIELDS.map((field) => [field, call.option(optionOf(field))] as const)
  return Object.fromEntries(entries.filter(([, text]) => text !== null)) as GivenFilter
}

function usageError(details: readonly Detail[]): UsageError {
  return new UsageError(
    details.map(({ path, message }) => `${path === '' ? '' : `--${optionOf(path)} `}${message}`).join('; '),
  )
}

async function filterOf(call: Call, { db, clock }: Context): Promise<QueueFilter> {
  const read = await readFilter(given(call), { db, nowMs: clock.now() })
  if (!read.ok) throw usageError(read.details)
  return read.filter
}

async function stoppedOf(call: Call, { db }: Context): Promise<Stopped> {
  const read = await readStopped({ ...given(call), ...(call.words.length === 0 ? {} : { domain: call.word(0) }) }, db)
  if (!read.ok) throw usageError(read.details)
  return read.stopped
}

function limitOf(call: Call): number {
  const limit = Number(call.option('limit') ?? USUAL_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit takes a number from 1 to ${MAX_LIMIT}`)
  return limit
}

function untilOf(call: Call): Date | null {
  const text = call.option('until')
  const until = text === null ? null : readMoment(text, 'UTC')
  if (text !== null && (until === null || until.getTime() <= Date.now()))
    throw new UsageError('--until takes a time to come: 2031-05-04T10:00:00Z')
  return until
}

/** Without Redis the change is stored all the same, and heard a little later: said on stderr. */
async function tellRedis(ctx: Context, call: Call): Promise<void> {
  if (!(await whenReady(ctx.redis, REDIS_WAIT_MS)))
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
    const reason = call.option('reason') ?? MAIL_VERBS[verb].usualReason
    const { id } = await beginAction(ctx, { verb, filter, reason, by: operatorName() })
    let [seen, moved, toldAt] = [0, 0, performance.now()]
    await advance(ctx, id, Infinity, (slice, done) => {
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

const shown = ({ kind, subject }: Stopped): string =>
  kind === 'domain' ? (subject === '*' ? 'All mail' : `Mail to ${subject}`) : `Mail of the ${kind} ${subject}`

/** How it is named to `resume`, ready for a shell. */
const named = ({ kind, subject }: Stopped): string =>
  kind === 'domain' ? (subject === '*' ? `'*'` : subject) : `--${kind} ${subject}`

/** One that a rule about its replies has stopped (docs/shaping.md). */
async function letReceiverGo(ctx: Context, call: Call, receiver: string): Promise<number> {
  await tellRedis(ctx, call)
  if ((await resumeReceiver(ctx, receiver)) === 0)
    return call.fail(`The receiver ${receiver} is not suspended; mailstead queue status lists what is.`)
  await recordAction(ctx, { verb: 'resume', subject: { receiver }, reason: '', by: operatorName() }, 'done')
  return call.answer(`Mail to ${receiver} goes out again.`, { resumed: receiver, kind: 'receiver' })
}

const ACTIONS: Readonly<Record<string, Action>> = {
  status: {
    usage: 'status',
    run: (call) =>
      withContext(call.io, async ({ db, clock }) => {
        const [counts, suspensions] = [await countTiers(db), await listSuspensions(db)]
        const receivers = await listReceiverSuspensions(db, new Date(clock.now()))
        const rows = counts.map((row) => [row.tier, row.state, String(row.count), row.oldestDueAt.toISOString()])
        const stopped = suspensions.map(
          (one) =>
            `suspended: ${one.kind} ${one.subject} (${one.reason})${one.until === null ? '' : ` until ${one.until.toISOString()}`}`,
        )
        const text =
          rows.length === 0 ? 'The queue is empty.' : tableText(['TIER', 'STATE', 'COUNT', 'OLDEST DUE'], rows)
        const left = receivers.map(
          ({ pace, source, rule, createdAt, until, reply }) =>
            `suspended: receiver ${pace}${fromText(source)} by rule ${rule} since ${createdAt.toISOString()} until ${until.toISOString()} (${reply})`,
        )
        return call.answer([text, ...[...stopped, ...left].map(lineText)].join('\n'), {
          counts: counts.map((row) => ({
            tier: row.tier,
            state: row.state,
            count: row.count,
            oldest_due_at: row.oldestDueAt,
          })),
          suspensions: suspensions.map(({ kind, subject, reason, createdAt, until }) => ({
            kind,
            subject,
            ...(kind === 'domain' ? { domain: subject } : {}),
            reason,
            created_at: createdAt,
            until,
          })),
          receivers: receivers.map(({ pace, source, workspaceId, rule, reply, createdAt, until }) => ({
            receiver: pace,
            source,
            workspace_id: workspaceId,
            rule,
            reply,
            created_at: createdAt,
            until,
          })),
        })
      }),
  },
  count: {
    usage: `count --by ${COUNTED_BY_NAMES.join('|')} ${FILTER_USAGE} [--limit N]`,
    options: [...FILTERS, 'by', 'limit'],
    run: (call) => {
      const by = COUNTED_BY_NAMES.find((name) => name === call.required('by'))
      if (by === undefined) throw new UsageError(`--by is one of ${COUNTED_BY_NAMES.join(', ')}`)
      return withContext(call.io, async (ctx) => {
        const counts = await countOpen(ctx.db, await filterOf(call, ctx), by, limitOf(call))
        const rows = counts.map((row) => [row.name, String(row.count), row.oldestDueAt.toISOString()])
        return call.answer(
          rows.length === 0 ? 'Nothing is open.' : tableText([by.toUpperCase(), 'COUNT', 'OLDEST DUE'], rows),
          counts.map((row) => ({ [by]: row.name, count: row.count, oldest_due_at: row.oldestDueAt })),
        )
      })
    },
  },
  list: {
    usage: `list ${FILTER_USAGE} [--limit N]`,
    options: [...FILTERS, 'limit'],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const { open } = await listOpen(ctx.db, await filterOf(call, ctx), { limit: limitOf(call), cursor: null })
        const rows = open.map((one) => [
          `em_${hexOf(one.messageId)}`,
          one.tier,
          one.state,
          one.dueAt.toISOString(),
          one.address,
          one.reason ?? '',
        ])
        return call.answer(
          rows.length === 0
            ? 'Nothing is open.'
            : tableText(['MESSAGE', 'TIER', 'STATE', 'DUE', 'RECIPIENT', 'WHY'], rows),
          open.map((one) => ({
            email_id: `em_${hexOf(one.messageId)}`,
            recipient: one.address,
            workspace_id: one.workspaceId,
            tier: one.tier,
            state: one.state,
            due_at: one.dueAt,
            tries: one.tries,
            reason: one.reason,
          })),
        )
      }),
  },
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
  actions: {
    usage: 'actions [--limit N]',
    options: ['limit'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const actions = await listActions(db, { before: null, limit: limitOf(call) })
        const rows = actions.map((one) => [
          one.beganAt.toISOString(),
          one.verb,
          JSON.stringify(one.subject),
          one.state,
          String(one.moved),
          one.by,
          one.reason,
        ])
        return call.answer(
          rows.length === 0
            ? 'Nothing was changed yet.'
            : tableText(['WHEN', 'WHAT', 'WHICH', 'STATE', 'MOVED', 'WHO', 'WHY'], rows),
          actions.map(({ beganAt, endedAt, ...one }) => ({ ...one, began_at: beganAt, ended_at: endedAt })),
        )
      }),
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('queue', ACTIONS, args, io)
}
