/**
 * Calls of webhook steps: due rows are claimed under a lease, posted, and updated with the result. Delivery is at least
 * once: a crash between the response and the commit repeats the call with the same id in its body and in `webhook-id`.
 * Calls are signed as all webhooks are (call-secrets.ts). Any response other than 2xx is retried for about a day. The
 * contact does not wait for the call.
 *
 * Each workspace has one endpoint per host. Endpoints share each claim, so that a dead host with a million calls does
 * not delay the others.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import type { HttpClient, HttpResult } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { ATTEMPT_TIMEOUT_MS, RETRY_DELAYS_SECONDS, signatureHeaders } from '#src/webhooks/attempt.ts'
import { saturatedEndpoints, type QueueCapacity } from '#src/webhooks/claim.ts'
import type { WebhookSigningKey } from '#src/webhooks/secret.ts'
import { loadSigningKeys, type SigningDeps } from './call-secrets.ts'

/** The lease covers waiting in the process, the call, and recording its result. */
export const LEASE_MS = 60_000
const MAX_ANSWER_CHARS = 500
/** Days that a call is retained after it was created. */
const RETENTION_DAYS = 30
const SLICE = 5000

interface ClaimedCall {
  readonly id: string
  readonly workspaceId: string
  readonly endpoint: string
  readonly url: string
  readonly body: string
  readonly tries: number
  /** Fencing token: recording a result requires the same value. */
  readonly leasedUntil: Date
  /** How many calls its endpoint could have got in this claim. */
  readonly capacity: number
}

export interface WebhookCall extends ClaimedCall {
  /** The newest first; null if they cannot be decrypted. */
  readonly keys: readonly WebhookSigningKey[] | null
}

/** The endpoint of a call: workspace and host. The database column is named `lane`. */
export function endpointOf(workspaceId: string, url: string): string {
  return `${workspaceId} ${URL.parse(url)?.host ?? ''}`
}

export interface ClaimedCalls {
  readonly jobs: readonly WebhookCall[]
  /** Endpoints that may have more due calls. */
  readonly unfinished: ReadonlySet<string>
}

// `fronts` skips from endpoint to endpoint through the index: one probe per endpoint, however many calls there are
const CLAIM_CALLS = prepared(
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
      SELECT f.lane, least(coalesce(r.capacity, $3), greatest(1, $4 / count(*) OVER ())) AS capacity
      FROM fronts f
      LEFT JOIN unnest($5::text[], $6::integer[]) AS r (lane, capacity) ON r.lane = f.lane
      WHERE f.due_at <= $1 AND coalesce(r.capacity, $3) > 0
      ORDER BY f.due_at
      LIMIT $4
    ),
    picked AS MATERIALIZED (
      SELECT p.id, s.capacity
      FROM sharing s
      CROSS JOIN LATERAL (
        SELECT c.id
        FROM automation_calls c
        WHERE c.lane = s.lane AND c.state = 'pending' AND c.due_at <= $1 AND c.leased_until <= $1
        ORDER BY c.due_at, c.id
        LIMIT s.capacity
        FOR UPDATE SKIP LOCKED
      ) p
    )
    UPDATE automation_calls c
    SET leased_until = $2
    FROM picked p
    WHERE c.id = p.id
    RETURNING c.id, c.workspace_id AS "workspaceId", c.lane AS endpoint, c.url, c.body, c.tries,
      c.leased_until AS "leasedUntil", p.capacity
  `,
)

/** Claims due calls for `LEASE_MS`, with the keys that sign them. */
export async function claimCalls(deps: SigningDeps, capacity: QueueCapacity, nowMs: number): Promise<ClaimedCalls> {
  const { rows } = await deps.db.query<ClaimedCall>(CLAIM_CALLS, [
    new Date(nowMs),
    new Date(nowMs + LEASE_MS),
    capacity.defaultPerEndpoint,
    capacity.total,
    [...capacity.byEndpoint.keys()],
    [...capacity.byEndpoint.values()],
  ])
  const keys = rows.length === 0 ? null : await loadSigningKeys(deps, rows)
  const jobs = rows.map((row) => ({ ...row, keys: keys?.get(row.id) ?? null }))
  return { jobs, unfinished: saturatedEndpoints(capacity, rows) }
}

export interface CallResult {
  readonly call: WebhookCall
  readonly state: 'delivered' | 'pending' | 'failed'
  /** When the next attempt is due. */
  readonly dueAt: Date | null
  readonly answer: string
  /** Null if there was no response. */
  readonly status: number | null
  readonly durationMs: number
}

type CallDeps = Pick<Context, 'clock' | 'config'> & { readonly outgoing: HttpClient }

/** Makes one attempt. Never rejects. */
export async function makeCall({ outgoing, clock, config }: CallDeps, call: WebhookCall): Promise<CallResult> {
  const { url, body, tries } = call
  const headers = headersOf(call, clock.now())
  const posted =
    headers === null ? NOT_SIGNED : await outgoing.post(url, { headers, body, timeoutMs: ATTEMPT_TIMEOUT_MS })
  const answer = posted.ok ? `${posted.status} ${posted.body}` : `${posted.reason}: ${posted.detail}`
  const result = {
    call,
    answer: answer.replaceAll('\0', '').slice(0, MAX_ANSWER_CHARS),
    status: posted.ok ? posted.status : null,
    durationMs: posted.durationMs,
    dueAt: null,
  }
  if (posted.ok && posted.status >= 200 && posted.status < 300) return { ...result, state: 'delivered' }
  const delaySeconds = RETRY_DELAYS_SECONDS[tries]
  return delaySeconds === undefined
    ? { ...result, state: 'failed' }
    : { ...result, state: 'pending', dueAt: new Date(clock.now() + delaySeconds * 1000 * config.retryScale) }
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'Mailstead-Automation' } as const
const NOT_SIGNED: HttpResult = {
  ok: false,
  reason: 'broken',
  detail: 'not sent: the signing secret cannot be decrypted (was MASTER_KEY changed?)',
  durationMs: 0,
}

/** Null if it cannot be signed: nothing is sent without a signature. */
function headersOf({ id, keys, body }: WebhookCall, nowMs: number): Record<string, string> | null {
  if (keys === null) return null
  return { ...HEADERS, ...signatureHeaders(keys, { id, timestampSeconds: Math.floor(nowMs / 1000), body }) }
}

const RECORD_RESULTS = prepared(
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

/** Records results. Calls claimed by another worker since then are not changed. */
export async function recordCallResults(db: Queryable, results: readonly CallResult[]): Promise<void> {
  await db.query(
    RECORD_RESULTS,
    columnsOf(results, [(t) => t.call.id, (t) => t.call.leasedUntil, (t) => t.state, (t) => t.dueAt, (t) => t.answer]),
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

/** Releases calls that were not attempted, without counting an attempt. */
export async function releaseCalls(db: Queryable, calls: readonly WebhookCall[]): Promise<void> {
  if (calls.length > 0) await db.query(RELEASE, columnsOf(calls, [(call) => call.id, (call) => call.leasedUntil]))
}

const DELETE_OLD = prepared(
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

/** Deletes old finished calls. Returns true if there may be more. */
export async function deleteOldCalls({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<boolean> {
  const { rowCount } = await db.query(DELETE_OLD, [idAt(clock.now() - RETENTION_DAYS * 86_400_000)])
  return rowCount === SLICE
}
