/**
 * Adds addresses to the suppression list of a workspace and removes them. One statement for a whole batch; a caller
 * that writes the cause together with other data (a bounce with its transition) calls `suppress` in that transaction.
 * Duplicates in a batch become one entry with the strongest cause. Concurrent batches lock rows in the same order and
 * cannot deadlock; repeating a batch changes nothing. Messages accepted before are checked again when they are claimed
 * (src/messages/claim.ts).
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { recordChange } from '#src/stores/audit.ts'
import { prepared, type Db, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CAUSE_KINDS, CAUSES, type NewSuppression } from './cause.ts'

export interface SuppressResult {
  /** Not on the list before. */
  readonly added: number
  /** On the list before, with a weaker cause. */
  readonly strengthened: number
  /** On the list before, with a cause at least as strong. */
  readonly unchanged: number
}

const rank = (kind: string): string => `array_position('{${CAUSE_KINDS.join(',')}}', ${kind})`

// xmax is 0 in a row that this statement inserted
const SUPPRESS = prepared(
  'suppressions-add',
  sql`
    WITH input AS (
      SELECT DISTINCT ON (workspace_id, lower(address)) i.*
      FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::uuid[],
        $10::uuid[], $11::uuid[]
      ) AS i (
        workspace_id, address, kind, cause, reply_code, reply_status, reply_text, rule, event_id, message_id, api_key_id
      )
      ORDER BY workspace_id, lower(address), ${rank('i.kind')}
    ),
    written AS (
      INSERT INTO suppressions AS s (
        workspace_id, address, kind, cause, reply_code, reply_status, reply_text, rule, event_id, message_id,
        api_key_id, created_at, updated_at
      )
      SELECT workspace_id, lower(address), kind, cause, reply_code, reply_status, reply_text, rule, event_id,
        message_id, api_key_id, $12, $12
      FROM input
      WHERE EXISTS (SELECT FROM workspaces w WHERE w.id = input.workspace_id)
      ORDER BY workspace_id, lower(address) COLLATE "C"
      ON CONFLICT (workspace_id, address)
      DO UPDATE SET kind = excluded.kind,
        cause = excluded.cause,
        reply_code = excluded.reply_code,
        reply_status = excluded.reply_status,
        reply_text = excluded.reply_text,
        rule = excluded.rule,
        event_id = excluded.event_id,
        message_id = excluded.message_id,
        api_key_id = excluded.api_key_id,
        updated_at = excluded.updated_at
      WHERE ${rank('excluded.kind')} < ${rank('s.kind')}
      RETURNING xmax = 0 AS is_new
    )
    SELECT (SELECT count(*) FROM input) AS entries, count(*) FILTER (WHERE is_new) AS added,
      count(*) FILTER (WHERE NOT is_new) AS strengthened
    FROM written
  `,
)

/** Runs in the caller's transaction or alone. `entries` may belong to several workspaces. */
export async function suppress(tx: Queryable, entries: readonly NewSuppression[], now: Date): Promise<SuppressResult> {
  if (entries.length === 0) return { added: 0, strengthened: 0, unchanged: 0 }
  const columns = columnsOf(entries, [
    (e) => e.workspaceId,
    (e) => e.address,
    (e) => e.kind,
    (e) => e.reason ?? CAUSES[e.kind].sentence,
    (e) => e.reply?.code ?? null,
    (e) => e.reply?.status ?? null,
    (e) => e.reply?.text ?? null,
    (e) => e.rule ?? null,
    (e) => e.eventId ?? null,
    (e) => e.messageId ?? null,
    (e) => e.apiKeyId ?? null,
  ])
  const {
    rows: [row],
  } = await tx.query<{ entries: number; added: number; strengthened: number }>(SUPPRESS, [...columns, now])
  const { entries: all, added, strengthened } = row ?? { entries: 0, added: 0, strengthened: 0 }
  return { added, strengthened, unchanged: all - added - strengthened }
}

const REMOVE = prepared(
  'suppressions-remove',
  sql`
    WITH erased AS (
      DELETE FROM erased_suppressions e
      USING unnest($2::text[]) AS a
      WHERE e.workspace_id = $1 AND e.address_hash = erased_address($1, lower(a))
      RETURNING lower(a) AS address
    ),
    removed AS (
      DELETE FROM suppressions
      WHERE workspace_id = $1 AND address = ANY (ARRAY(SELECT lower(a) FROM unnest($2::text[]) AS a))
      RETURNING address
    )
    SELECT address
    FROM removed
    UNION
    SELECT address
    FROM erased
  `,
)

const WITHDRAW = prepared(
  'suppressions-withdraw-bulk',
  sql`
    WITH erased AS (
      DELETE FROM erased_suppressions
      WHERE workspace_id = $1 AND address_hash = erased_address($1, lower($2)) AND kind = 'unsubscribe_bulk'
    )
    DELETE FROM suppressions
    WHERE workspace_id = $1 AND address = lower($2) AND kind = 'unsubscribe_bulk'
  `,
)

/** Lets bulk mail through again, unless the address is on the list for another cause. */
export async function withdrawBulkUnsubscribe(db: Queryable, workspaceId: string, address: string): Promise<void> {
  await db.query(WITHDRAW, [workspaceId, address])
}

export interface Removal {
  readonly address: string
  /** Why, in the words of who removed it. */
  readonly reason: string | null
}

const NOTE_REMOVALS = sql`
  INSERT INTO contact_changes (contact_id, id, workspace_id, changes)
  SELECT c.id, new_enrolment_id(), c.workspace_id,
    jsonb_build_array(
      jsonb_build_object('field', 'is_suppressed', 'from', true, 'to', false),
      jsonb_build_object('field', 'suppression_removal_reason', 'from', null, 'to', r.reason)
    )
  FROM unnest($2::text[], $3::text[]) AS r (address, reason)
  JOIN contacts c ON c.workspace_id = $1 AND c.email = r.address
`

/**
 * Removes addresses from the list. Returns those that were on it. The reason is in the audit log, and in the history of
 * the contact with that address.
 */
export function unsuppress(db: Db, workspaceId: string, removals: readonly Removal[]): Promise<string[]> {
  const reasons = new Map(removals.map(({ address, reason }) => [address.toLowerCase(), reason]))
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ address: string }>(REMOVE, [workspaceId, [...reasons.keys()]])
    const removed = rows.map(({ address }) => address)
    await recordRemovals(
      tx,
      workspaceId,
      removed.map((address) => ({ address, reason: reasons.get(address) ?? null })),
    )
    return removed
  })
}

/**
 * Records the removal of addresses, which are in lower case, in the transaction that removes them: in the history of
 * the contact with that address, and each reason in the audit log.
 */
export async function recordRemovals(tx: Queryable, workspaceId: string, removals: readonly Removal[]): Promise<void> {
  await tx.query(NOTE_REMOVALS, [workspaceId, ...columnsOf(removals, [(r) => r.address, (r) => r.reason])])
  for (const { address, reason } of removals) {
    if (reason === null) continue
    // beside the entry of the trigger, of the same kind: an erasure finds both
    const common = { kind: 'suppression', object: address, workspaceId, change: 'delete' } as const
    await recordChange(tx, { ...common, before: null, after: { removal_reason: reason } })
  }
}
