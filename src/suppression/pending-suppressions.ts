/**
 * Resolves pending suppressions (suppress-hard-bounces.ts). An address that has accepted mail since is dropped. One
 * held for an outage is suppressed if there was no outage, or if the receiver repeats the bounce for a day; after the
 * outage it needs one more bounce, which a dead address produces by itself. Any number of processes may run this: each
 * entry is resolved by one.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { findOutages } from './outage.ts'
import { suppress } from './suppress.ts'

const DAY_MS = 24 * 3600 * 1000
const MAX_HOLD_MS = 30 * DAY_MS
const OUTAGE_MS = DAY_MS
const SLICE = 500
/** Maximum age of a message at its bounce. */
const MESSAGE_AGE_MS = 14 * DAY_MS

export type PendingDecision = 'write' | 'drop' | 'ask-again' | 'keep'

export interface PendingState {
  readonly hold: 'proof' | 'outage'
  readonly ageMs: number
  /** A message to it was delivered since. */
  readonly acceptedMail: boolean
  /** The receiver has an outage now. */
  readonly isOutage: boolean
  /** The receiver had an outage when the address was held, by the counts known now. */
  readonly wasOutage: boolean
}

/** Pure. */
export function decidePending({ hold, ageMs, acceptedMail, isOutage, wasOutage }: PendingState): PendingDecision {
  if (acceptedMail || ageMs > MAX_HOLD_MS) return 'drop'
  if (hold === 'proof') return 'keep'
  if (!wasOutage) return 'write'
  if (!isOutage) return 'ask-again'
  return ageMs >= OUTAGE_MS ? 'write' : 'keep'
}

interface PendingRow {
  readonly workspaceId: string
  readonly address: string
  readonly hold: 'proof' | 'outage'
  readonly receiver: string
  readonly cause: string
  readonly code: number | null
  readonly status: string | null
  readonly text: string | null
  readonly rule: string
  readonly eventId: string | null
  readonly messageId: string | null
  readonly heldAt: Date
  readonly acceptedMail: boolean
}

const READ = sql`
  SELECT h.workspace_id AS "workspaceId", h.address, h.hold, h.receiver, h.cause, h.reply_code AS code,
    h.reply_status AS status, h.reply_text AS text, h.rule, h.event_id AS "eventId", h.message_id AS "messageId",
    h.held_at AS "heldAt",
    EXISTS (
      SELECT FROM recipients r
      WHERE r.workspace_id = h.workspace_id
        AND (lower(r.address) COLLATE "C") = h.address
        AND r.message_id > $1
        AND r.state = 'delivered'
        AND r.updated_at > h.held_at
    ) AS "acceptedMail"
  FROM held_suppressions h
  WHERE (h.held_at, h.workspace_id, h.address) > ($2::timestamptz, $3::uuid, $4::text)
  ORDER BY h.held_at, h.workspace_id, h.address
  LIMIT ${SLICE}
`

const END = sql`
  DELETE FROM held_suppressions h
  USING unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS i (workspace_id, address, held_at)
  WHERE h.workspace_id = i.workspace_id AND h.address = i.address AND h.held_at = i.held_at
  RETURNING h.workspace_id AS "workspaceId", h.address
`

const REQUIRE_PROOF = sql`
  UPDATE held_suppressions h
  SET hold = 'proof'
  FROM unnest($1::uuid[], $2::text[]) AS i (workspace_id, address)
  WHERE h.workspace_id = i.workspace_id AND h.address = i.address
`

/** Checks all pending suppressions. Returns how many addresses were suppressed. */
export async function resolvePending(db: Db, now: Date): Promise<number> {
  let written = 0
  for (let at: [Date, string, string] = [new Date(0), NIL_UUID, '']; ;) {
    const { rows } = await db.query<PendingRow>(READ, [
      idAt(Math.max(0, now.getTime() - MAX_HOLD_MS - MESSAGE_AGE_MS)),
      ...at,
    ])
    written += await resolveSlice(db, rows, now)
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return written
    at = [last.heldAt, last.workspaceId, last.address]
  }
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'

async function resolveSlice(db: Db, rows: readonly PendingRow[], now: Date): Promise<number> {
  const outages = rows.filter(({ hold }) => hold === 'outage')
  const inOutage = await findOutages(
    db,
    outages.map(({ receiver }) => receiver),
    now,
  )
  const byDecision = new Map<PendingDecision, PendingRow[]>()
  const outageHours = new Map<string, boolean>()
  for (const row of rows) {
    const hour = `${row.receiver} ${row.heldAt.toISOString().slice(0, 13)}`
    if (row.hold === 'outage' && !outageHours.has(hour))
      outageHours.set(hour, (await findOutages(db, [row.receiver], row.heldAt)).has(row.receiver))
    const wasOutage = outageHours.get(hour) ?? false
    const decision = decidePending({
      ...row,
      ageMs: now.getTime() - row.heldAt.getTime(),
      isOutage: inOutage.has(row.receiver),
      wasOutage,
    })
    byDecision.set(decision, [...(byDecision.get(decision) ?? []), row])
  }
  await requireProof(db, byDecision.get('ask-again') ?? [])
  await endHold(db, byDecision.get('drop') ?? [])
  return suppressHeld(db, byDecision.get('write') ?? [], now)
}

async function requireProof(db: Queryable, rows: readonly PendingRow[]): Promise<void> {
  if (rows.length > 0) await db.query(REQUIRE_PROOF, columnsOf(rows, [(r) => r.workspaceId, (r) => r.address]))
}

/** Returns those that no other process ended before. */
async function endHold(db: Queryable, rows: readonly PendingRow[]): Promise<PendingRow[]> {
  if (rows.length === 0) return []
  const columns = columnsOf(rows, [(r) => r.workspaceId, (r) => r.address, (r) => r.heldAt])
  const { rows: ended } = await db.query<{ workspaceId: string; address: string }>(END, columns)
  const keys = new Set(ended.map(({ workspaceId, address }) => `${workspaceId} ${address}`))
  return rows.filter(({ workspaceId, address }) => keys.has(`${workspaceId} ${address}`))
}

function suppressHeld(db: Db, rows: readonly PendingRow[], now: Date): Promise<number> {
  if (rows.length === 0) return Promise.resolve(0)
  return db.transaction(async (tx) => {
    const ended = await endHold(tx, rows)
    await suppress(
      tx,
      ended.map((row) => ({
        workspaceId: row.workspaceId,
        address: row.address,
        kind: 'hard_bounce',
        reason: row.cause,
        rule: row.rule,
        reply: { code: row.code, status: row.status, text: row.text ?? '' },
        ...(row.eventId === null ? {} : { eventId: row.eventId }),
        ...(row.messageId === null ? {} : { messageId: row.messageId }),
      })),
      now,
    )
    return ended.length
  })
}

/** Pending suppressions by receiver, for the operator. */
export interface PendingCount {
  readonly hold: 'proof' | 'outage'
  readonly receiver: string
  readonly count: number
  readonly since: Date
}

export async function countPending(db: Queryable): Promise<PendingCount[]> {
  const { rows } = await db.query<PendingCount>(sql`
    SELECT hold, receiver, count(*) AS count, min(held_at) AS since
    FROM held_suppressions
    GROUP BY hold, receiver
    ORDER BY hold, count(*) DESC, receiver
    LIMIT 1000
  `)
  return rows
}
