/**
 * Changes the recipients of a scheduled message, as a part of the transaction that changes the message and holds the
 * locks of its recipients. A recipient that remains keeps its row and its history. One that is left out is cancelled,
 * with its event, and taken back from the quota. A new one is stored as at acceptance: counted, checked against the
 * suppression list, with its first event. A row is never deleted, because events refer to it.
 */
import { findCurrentSuppressions } from './claim.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId, timeOf } from '#src/platform/id.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { stopsTier } from '#src/suppression/cause.ts'
import { consumeQuotaSlice } from './quota.ts'
import { INITIAL_STATES } from './state.ts'
import type { SubmittedRecipient } from './submission.ts'
import { applyTransitions, cancellationOf } from './transition.ts'

/** A recipient of the message as it is stored. */
export interface StoredRecipient extends SubmittedRecipient {
  readonly n: number
  readonly state: string
  readonly isOnly: boolean
  readonly sequence: number
}

export interface ChangedRecipients {
  readonly id: string
  readonly workspaceId: string
  readonly tier: Tier
  readonly dueAt: Date
  readonly before: readonly StoredRecipient[]
  readonly wanted: readonly SubmittedRecipient[]
  /** Recipients per month in the plan; null = unlimited. */
  readonly quota: number | null
}

export interface RecipientsChange extends CommitNotifications {
  /** The recipients that wait now. */
  readonly waiting: readonly (SubmittedRecipient & { readonly n: number })[]
  /** The addresses that were added and removed. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** @throws an error for which `isQuotaExceeded` is true; the transaction must then be rolled back. */
export async function changeRecipients(tx: Queryable, change: ChangedRecipients): Promise<RecipientsChange> {
  const { id, workspaceId, before, wanted } = change
  const present = await findPresent(tx, change)
  const kept = wanted.flatMap((one) => {
    const row = present.get(nameOf(one))
    return row === undefined ? [] : [{ ...one, n: row.n, state: row.state }]
  })
  const names = new Set(wanted.map(nameOf))
  const removed = before.filter((one) => one.state === 'scheduled' && !names.has(nameOf(one)))
  const firstN = Math.max(...before.map(({ n }) => n)) + 1
  const added = wanted.filter((one) => !present.has(nameOf(one))).map((one, i) => ({ ...one, n: firstN + i }))
  await updateKept(tx, change, kept)
  const stored = added.length === 0 ? NOTHING_ADDED : await addRecipients(tx, change, added)
  const now = new Date()
  const moves = removed.map(({ n }) => cancellationOf(id, n, 'removed from the message by its sender'))
  const cancelled = moves.length === 0 ? null : await applyTransitions(tx, moves, now)
  await tx.query('UPDATE messages SET recipient_count = $2 WHERE id = $1', [id, wanted.length])
  // it counts in the month of the message, as its cancellation is taken back there
  const count = { workspaceId, count: added.length, quota: change.quota, now: new Date(timeOf(id)) }
  if (added.length > 0) await consumeQuotaSlice(tx, count)
  return {
    waiting: [
      ...kept.filter(({ state }) => state === 'scheduled'),
      ...added.filter(({ n }) => !stored.suppressed.has(n)),
    ],
    added: added.map(({ address }) => address),
    removed: removed.map(({ address }) => address),
    hasDeliveries: stored.hasDeliveries || cancelled?.hasDeliveries === true,
    workspaces: [workspaceId],
  }
}

function nameOf({ address }: { readonly address: string }): string {
  return address.toLowerCase()
}

/** The rows that a wanted recipient may keep: those that wait, and those whose address is still suppressed. */
async function findPresent(
  tx: Queryable,
  { workspaceId, tier, before }: ChangedRecipients,
): Promise<Map<string, StoredRecipient>> {
  const suppressed = before.filter(({ state }) => state === 'suppressed')
  const addresses = suppressed.map(({ address }) => ({ workspaceId, tier, address }))
  const causes = suppressed.length === 0 ? [] : await findCurrentSuppressions(tx, addresses)
  const present = [
    ...suppressed.filter((_, i) => causes[i] !== null),
    ...before.filter(({ state }) => state === 'scheduled'),
  ]
  return new Map(present.map((one) => [nameOf(one), one]))
}

async function updateKept(
  tx: Queryable,
  { id, before }: ChangedRecipients,
  kept: readonly (SubmittedRecipient & { readonly n: number })[],
): Promise<void> {
  const stored = new Map(before.map((one) => [one.n, one]))
  const changed = kept.filter(({ n, kind, domain, address }) => {
    const row = stored.get(n)
    return row?.kind !== kind || row.domain !== domain || row.address !== address
  })
  if (changed.length === 0) return
  await tx.query(
    sql`
      UPDATE recipients r
      SET kind = i.kind, domain = i.domain, address = i.address, updated_at = now()
      FROM unnest($2::smallint[], $3::text[], $4::text[], $5::text[]) AS i (n, kind, domain, address)
      WHERE r.message_id = $1 AND r.n = i.n
    `,
    [
      id,
      changed.map(({ n }) => n),
      changed.map(({ kind }) => kind),
      changed.map(({ domain }) => domain),
      changed.map(({ address }) => address),
    ],
  )
}

/** A message with one recipient counts its events there; with a second one, in the message. */
async function shareEventCounter(tx: Queryable, { id, before }: ChangedRecipients): Promise<void> {
  const only = before.find(({ isOnly }) => isOnly)
  if (only === undefined) return
  await tx.query('UPDATE recipients SET is_only = false, sequence = 0 WHERE message_id = $1', [id])
  await tx.query('UPDATE messages SET event_count = $2 WHERE id = $1', [id, only.sequence])
}

const ADD = sql`
  WITH accepted AS MATERIALIZED (
    SELECT i.*, s.cause, s.kind AS cause_kind, row_number() OVER (ORDER BY i.n) AS k,
      CASE WHEN s.address IS NULL THEN 'scheduled' ELSE 'suppressed' END AS state
    FROM unnest($5::smallint[], $6::text[], $7::text[], $8::text[], $9::uuid[])
      AS i (n, recipient_kind, address, domain, event_id)
    LEFT JOIN suppressions s ON s.workspace_id = $2 AND s.address = lower(i.address) AND ${stopsTier('$3')}
  ), new_recipients AS (
    INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only,
      sequence, reason, updated_at)
    SELECT $1, n, $2, $3, recipient_kind, address, domain, state, state <> 'suppressed', $4, false, 0,
      CASE WHEN state = 'suppressed' THEN 'the address is on the suppression list: ' || cause END, now()
    FROM accepted
  ), counted AS (
    UPDATE messages
    SET event_count = event_count + (SELECT count(*) FROM accepted)
    WHERE id = $1
    RETURNING event_count - (SELECT count(*) FROM accepted) AS base
  ), new_events AS (
    INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
    SELECT event_id, $2, ($10::jsonb) ->> state, $1, n, c.base + k, address,
      CASE WHEN state = 'suppressed'
        THEN jsonb_build_object('reason', 'suppressed', 'cause', cause, 'cause_kind', cause_kind) END,
      now()
    FROM accepted
    CROSS JOIN counted c
    RETURNING id, workspace_id, type
  ), ${newDeliveries('now()')}
  SELECT (SELECT count(*) FROM new_deliveries) AS deliveries,
    ARRAY(SELECT n FROM accepted WHERE state = 'suppressed') AS suppressed
`

interface AddedRecipients {
  readonly hasDeliveries: boolean
  readonly suppressed: ReadonlySet<number>
}

const NOTHING_ADDED: AddedRecipients = { hasDeliveries: false, suppressed: new Set() }

/** The event of each initial state, as JSON for the statement. */
const FIRST_EVENTS = JSON.stringify(
  Object.fromEntries(Object.entries(INITIAL_STATES).map(([state, [type]]) => [state, type])),
)

async function addRecipients(
  tx: Queryable,
  change: ChangedRecipients,
  added: readonly (SubmittedRecipient & { readonly n: number })[],
): Promise<AddedRecipients> {
  await shareEventCounter(tx, change)
  const { id, workspaceId, tier, dueAt } = change
  const { rows } = await tx.query<{ deliveries: number; suppressed: readonly number[] }>(ADD, [
    id,
    workspaceId,
    tier,
    dueAt,
    added.map(({ n }) => n),
    added.map(({ kind }) => kind),
    added.map(({ address }) => address),
    added.map(({ domain }) => domain),
    added.map(() => newId()),
    FIRST_EVENTS,
  ])
  return { hasDeliveries: (rows[0]?.deliveries ?? 0) > 0, suppressed: new Set(rows[0]?.suppressed) }
}
