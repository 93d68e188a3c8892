/**
 * What webhook steps have to tell: rows that are due, taken under a lease, posted, and written down. At least once: who dies between the
 * answer and the commit leaves a call that is made again, with the same id in its body and in `webhook-id`. Anything but 2xx is tried again
 * over a day. A contact does not wait for it.
 *
 * Each workspace has a lane for each host that it tells. Lanes share what is taken at a time, so that a dead host with a million calls
 * takes nothing from the others.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import type { Outgoing } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { fullLanes, type Room } from '#src/webhooks/endpoint-concurrency.ts'
import { TRY_TIMEOUT_MS, WAITS_SECONDS } from '#src/webhooks/response-policy.ts'

/** Waiting in the process, the call itself and settling must fit. */
export const LEASE_MS = 60_000
const MOST_ANSWER = 500
/** Days that a call is kept after it was made. */
const KEPT_DAYS = 30
const SLICE = 5000

export interface Call {
  readonly id: string
  readonly lane: string
  readonly url: string
  readonly body: string
  readonly tries: number
  /** The fence: who settles must name it. */
  readonly leasedUntil: Date
  /** What its lane might have got. */
  readonly room: number
}

/** The lane of an address. */
export function laneOf(workspaceId: string, url: string): string {
  return `${workspaceId} ${URL.parse(url)?.host ?? ''}`
}

export interface Claim {
  readonly jobs: readonly Call[]
  /** Lanes that may have more. */
  readonly unfinished: ReadonlySet<string>
}

// `fronts` jumps from lane to lane through the index: one probe a lane, however many calls there are
const CLAIM = prepared(
  'automation-calls-claim',
  sql`
    WITH RECURSIVE fronts AS (
      (
        SELECT lane, due_at
        FROM automation_calls
        WHERE state = 'pending'
        ORDER BY lane, due_at
        LIMIT 1
      )
      UNION ALL
      SELECT following.*
      FROM fronts
      CROSS JOIN LATERAL (
        SELECT c.lane, c.due_at
        FROM automation_calls c
        WHERE c.state = 'pending' AND c.lane > fronts.lane
        ORDER BY c.lane, c.due_at
        LIMIT 1
      ) following
    ),
    sharing AS MATERIALIZED (
      SELECT f.lane, least(coalesce(r.room, $3), greatest(1, $4 / count(*) OVER ())) AS room
      FROM fronts f
      LEFT JOIN unnest($5::text[], $6::integer[]) AS r (lane, room) ON r.lane = f.lane
      WHERE f.due_at <= $1 AND coalesce(r.room, $3) > 0
      ORDER BY f.due_at
      LIMIT $4
    ),
    picked AS MATERIALIZED (
      SELECT p.id, s.room
      FROM sharing s
      CROSS JOIN LATERAL (
        SELECT c.id
        FROM automation_calls c
        WHERE c.lane = s.lane AND c.state = 'pending' AND c.due_at <= $1 AND c.leased_until <= $1
        ORDER BY c.due_at, c.id
        LIMIT s.room
        FOR UPDATE SKIP LOCKED
      ) p
    )
    UPDATE automation_calls c
    SET leased_until = $2
    FROM picked p
    WHERE c.id = p.id
    RETURNING c.id, c.lane, c.url, c.body, c.tries, c.leased_until AS "leasedUntil", p.room
  `,
)

/** What is due, for `LEASE_MS`. */
export async function claimCalls(db: Queryable, room: Room, nowMs: number): Promise<Claim> {
  const { rows } = await db.query<Call>(CLAIM, [
    new Date(nowMs),
    new Date(nowMs + LEASE_MS),
    room.each,
    room.total,
    [...room.lanes.keys()],
    [...room.lanes.values()],
  ])
  return { jobs: rows, unfinished: fullLanes(room, rows) }
}

export interface Told {
  readonly call: Call
  readonly state: 'delivered' | 'pending' | 'failed'
  /** Of the next try. */
  readonly dueAt: Date | null
  readonly answer: string
  readonly durationMs: number
}

type Means = Pick<Context, 'clock' | 'config'> & { readonly outgoing: Outgoing }

/** One try. Never rejects. */
export async function makeCall({ outgoing, clock, config }: Means, call: Call): Promise<Told> {
  const { id, url, body, tries } = call
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'user-agent': 'Mailstead-Automation' }
  const posted = await outgoing.post(url, { headers, body, timeoutMs: TRY_TIMEOUT_MS })
  const said = posted.ok ? `${posted.status} ${posted.body}` : `${posted.reason}: ${posted.detail}`
  const told = {
    call,
    answer: said.replaceAll('\0', '').slice(0, MOST_ANSWER),
    durationMs: posted.durationMs,
    dueAt: null,
  }
  if (posted.ok && posted.status >= 200 && posted.status < 300) return { ...told, state: 'delivered' }
  const wait = WAITS_SECONDS[tries]
  return wait === undefined
    ? { ...told, state: 'failed' }
    : { ...told, state: 'pending', dueAt: new Date(clock.now() + wait * 1000 * config.retryScale) }
}

const SETTLE = prepared(
  'automation-calls-settle',
  sql`
    UPDATE automation_calls c
    SET tries = c.tries + 1,
      state = i.state,
      due_at = coalesce(i.due_at, c.due_at),
      answer = i.answer,
      leased_until = '-infinity'
    FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::timestamptz[], $5::text[]) AS i (
      id, leased_until, state, due_at, answer
    )
    WHERE c.id = i.id AND c.state = 'pending' AND c.leased_until = i.leased_until
  `,
)

/** Those that somebody else has taken since are left to him. */
export async function settleCalls(db: Queryable, told: readonly Told[]): Promise<void> {
  await db.query(
    SETTLE,
    columnsOf(told, [(t) => t.call.id, (t) => t.call.leasedUntil, (t) => t.state, (t) => t.dueAt, (t) => t.answer]),
  )
}

const RELEASE = prepared(
  'automation-calls-release',
  sql`
    UPDATE automation_calls c
    SET leased_until = '-infinity'
    FROM unnest($1::uuid[], $2::timestamptz[]) AS i (id, leased_until)
    WHERE c.id = i.id AND c.state = 'pending' AND c.leased_until = i.leased_until
  `,
)

/** Gives back, uncounted, what was not told. */
export async function releaseCalls(db: Queryable, calls: readonly Call[]): Promise<void> {
  if (calls.length > 0) await db.query(RELEASE, columnsOf(calls, [(call) => call.id, (call) => call.leasedUntil]))
}

const CLEAR = prepared(
  'automation-calls-clear',
  sql`
    DELETE FROM automation_calls
    WHERE id IN (
      SELECT id
      FROM automation_calls
      WHERE id < $1 AND state <> 'pending'
      ORDER BY id
      LIMIT ${SLICE}
      FOR UPDATE SKIP LOCKED
    )
  `,
)

/** Forgets what was told long ago. True when there may be more. */
export async function clearCalls({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<boolean> {
  const { rowCount } = await db.query(CLEAR, [idAt(clock.now() - KEPT_DAYS * 86_400_000)])
  return rowCount === SLICE
}
