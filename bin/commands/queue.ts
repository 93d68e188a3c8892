/** `mailstead queue`: the open mail of this installation, and the operator's hand on it. Filters go together; none means all. */
import { type Action, type Call, type Io, runActions, tableText, UsageError } from '#bin/cli.ts'
import { withContext } from '#bin/cli-context.ts'
import type { Context } from '#src/context.ts'
import { hexOf, messageIdOf } from '#src/id.ts'
import { countQueue, dropWaiting, listOpen, retryNow, type QueueFilter } from '#src/messages/queue-view.ts'
import { STATES } from '#src/messages/state.ts'
import { listSuspensions, resume, suspend } from '#src/queue/suspensions.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { whenReady } from '#src/redis.ts'

const FILTERS = ['domain', 'tier', 'state', 'message']
const FILTER_USAGE = '[--domain D] [--tier T] [--state S] [--message ID]'
const USUAL_LIMIT = 50
const MAX_LIMIT = 100_000
const REDIS_WAIT_MS = 2000

function oneOf(call: Call, name: string, known: readonly string[]): string | undefined {
  const value = call.option(name)
  if (value === null) return undefined
  if (!known.includes(value)) throw new UsageError(`--${name} is one of ${known.join(', ')}`)
  return value
}

function readFilter(call: Call): QueueFilter {
  const message = call.option('message')
  const messageId = message === null ? undefined : messageIdOf(message)
  if (messageId === null) throw new UsageError(`${JSON.stringify(message)} is no message id`)
  const given = { domain: call.option('domain') ?? undefined, tier: oneOf(call, 'tier', TIER_NAMES), state: oneOf(call, 'state', Object.keys(STATES)), messageId }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function readLimit(call: Call): number {
  const limit = Number(call.option('limit') ?? USUAL_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit takes a number from 1 to ${MAX_LIMIT}`)
  return limit
}

/** Without Redis the change is stored all the same, and heard a little later: said on stderr. */
async function tellRedis(ctx: Context, call: Call): Promise<void> {
  if (!await whenReady(ctx.redis, REDIS_WAIT_MS)) call.io.err('Redis does not answer; the change takes effect when it does.\n')
}

const ACTIONS: Readonly<Record<string, Action>> = {
  status: {
    usage: 'status',
    run: (call) => withContext(call.io, async ({ db }) => {
      const [counts, suspensions] = [await countQueue(db), await listSuspensions(db)]
      const rows = counts.map((row) => [row.tier, row.state, String(row.count), row.oldestDueAt.toISOString()])
      const stopped = suspensions.map(({ kind, subject, reason }) => `suspended: ${kind} ${subject} (${reason})`)
      const text = rows.length === 0 ? 'The queue is empty.' : tableText(['TIER', 'STATE', 'COUNT', 'OLDEST DUE'], rows)
      return call.answer([text, ...stopped].join('\n'), {
        counts: counts.map((row) => ({ tier: row.tier, state: row.state, count: row.count, oldest_due_at: row.oldestDueAt })),
        suspensions: suspensions.map(({ kind, subject, reason, createdAt, until }) => ({ kind, subject, reason, created_at: createdAt, until })),
      })
    }),
  },
  list: {
    usage: `list ${FILTER_USAGE} [--limit N]`, options: [...FILTERS, 'limit'],
    run: (call) => withContext(call.io, async ({ db }) => {
      const open = await listOpen(db, readFilter(call), readLimit(call))
      const rows = open.map((one) => [`em_${hexOf(one.messageId)}`, one.tier, one.state, one.dueAt.toISOString(), one.address, one.reason ?? ''])
      return call.answer(rows.length === 0 ? 'Nothing is open.' : tableText(['MESSAGE', 'TIER', 'STATE', 'DUE', 'RECIPIENT', 'WHY'], rows), open.map((one) => ({
        email_id: `em_${hexOf(one.messageId)}`, recipient: one.address, tier: one.tier, state: one.state, due_at: one.dueAt, tries: one.tries, reason: one.reason,
      })))
    }),
  },
  retry: {
    usage: `retry ${FILTER_USAGE}`, options: FILTERS,
    run: (call) => withContext(call.io, async (ctx) => {
      const filter = readFilter(call)
      await tellRedis(ctx, call)
      const moved = await retryNow(ctx, filter)
      return call.answer(`${moved} recipients are due now.`, { retried: moved })
    }),
  },
  suspend: {
    usage: `suspend DOMAIN|'*' [--reason WHY]`, options: ['reason'], words: [1, 1],
    run: (call) => withContext(call.io, async (ctx) => {
      await tellRedis(ctx, call)
      await suspend(ctx, call.word(0), call.option('reason') ?? 'suspended by the operator')
      return call.answer(`Mail to ${call.word(0)} waits until: mailstead queue resume ${call.word(0)}`, { suspended: call.word(0) })
    }),
  },
  resume: {
    usage: `resume DOMAIN|'*'`, words: [1, 1],
    run: (call) => withContext(call.io, async (ctx) => {
      await tellRedis(ctx, call)
      if (!await resume(ctx, call.word(0))) return call.fail(`${call.word(0)} is not suspended; mailstead queue status lists what is.`)
      return call.answer(`Mail to ${call.word(0)} goes out again.`, { resumed: call.word(0) })
    }),
  },
  drop: {
    usage: `drop ${FILTER_USAGE} --yes [--reason WHY]`, options: [...FILTERS, 'reason'], flags: ['yes'],
    run: (call) => withContext(call.io, async (ctx) => {
      const filter = readFilter(call)
      if (!call.has('yes')) throw new UsageError('dropped mail is gone for good: look with `queue list` first, then say --yes')
      const dropped = await dropWaiting(ctx, filter, call.option('reason') ?? 'dropped by the operator')
      return call.answer(`${dropped} recipients were dropped.`, { dropped })
    }),
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('queue', ACTIONS, args, io)
}
