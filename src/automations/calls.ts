/**
 * What webhook steps have to tell, told: taken under a lease, posted, and written down. At least once: a process that dies between the
 * answer and the commit leaves a call that is made again, with the same id in its body and in `webhook-id`. Anything but 2xx is tried
 * again over a day. A contact does not wait for it.
 */
import { createOutgoing, type Outgoing } from '#src/outgoing.ts'
import { columnsOf } from '#src/columns.ts'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/db.ts'

const SLICE = 100
const LEASE_SECONDS = 60
const TIMEOUT_MS = 10_000
/** As of the webhooks of events. */
const WAITS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const
const MOST_ANSWER = 500
/** Days that a call is kept after it was made. */
const KEPT_DAYS = 30

type Stores = Pick<Context, 'db' | 'clock' | 'log' | 'config'>

interface Call {
  readonly id: string
  readonly url: string
  readonly body: string
  readonly tries: number
}

// the oldest first, and no more of one address than others leave room for
const TAKE = prepared('automation-calls-take', `
UPDATE automation_calls SET leased_until = $1::timestamptz + interval '${LEASE_SECONDS} seconds'
WHERE id IN (SELECT id FROM automation_calls WHERE state = 'pending' AND due_at <= $1 AND leased_until <= $1
  ORDER BY due_at LIMIT ${SLICE} FOR UPDATE SKIP LOCKED)
RETURNING id, url, body, tries`)

const SETTLE = prepared('automation-calls-settle', `
UPDATE automation_calls c SET tries = c.tries + 1, state = i.state, due_at = coalesce(i.due_at, c.due_at), answer = i.answer, leased_until = '-infinity'
FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::text[]) AS i (id, state, due_at, answer) WHERE c.id = i.id AND c.state = 'pending'`)

export interface Caller {
  /** One slice; true when there may be more. */
  callSlice(): Promise<boolean>
  close(): void
}

export function createCaller(ctx: Stores, outgoing: Outgoing = createOutgoing(ctx.config)): Caller {
  return {
    callSlice: async () => {
      const { rows: calls } = await ctx.db.query<Call>(TAKE, [new Date(ctx.clock.now())])
      if (calls.length === 0) return false
      const results = await Promise.all(calls.map((call) => make(ctx, outgoing, call)))
      await ctx.db.query(SETTLE, columnsOf(results, [(r) => r.id, (r) => r.state, (r) => r.dueAt, (r) => r.answer]))
      return calls.length === SLICE
    },
    close: () => outgoing.close(),
  }
}

interface Result {
  readonly id: string
  readonly state: 'delivered' | 'pending' | 'failed'
  readonly dueAt: Date | null
  readonly answer: string
}

async function make({ clock, config }: Stores, outgoing: Outgoing, { id, url, body, tries }: Call): Promise<Result> {
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'user-agent': 'Mailstead-Automation' }
  const posted = await outgoing.post(url, { headers, body, timeoutMs: TIMEOUT_MS })
  const answer = (posted.ok ? `${posted.status} ${posted.body}` : `${posted.reason}: ${posted.detail}`).replaceAll('\0', '').slice(0, MOST_ANSWER)
  if (posted.ok && posted.status >= 200 && posted.status < 300) return { id, state: 'delivered', dueAt: null, answer }
  const wait = WAITS_SECONDS[tries]
  if (wait === undefined) return { id, state: 'failed', dueAt: null, answer }
  return { id, state: 'pending', dueAt: new Date(clock.now() + wait * 1000 * config.retryScale), answer }
}

const CLEAR = prepared('automation-calls-clear', `
DELETE FROM automation_calls WHERE id IN (
  SELECT id FROM automation_calls WHERE created_at < $1 AND state <> 'pending' ORDER BY id LIMIT 5000)`)

/** Forgets what was told long ago. True when there may be more. */
export async function clearCalls({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<boolean> {
  const { rowCount } = await db.query(CLEAR, [new Date(clock.now() - KEPT_DAYS * 86_400_000)])
  return rowCount === 5000
}
