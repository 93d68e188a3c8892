/**
 * Reads and clears the audit log. Its entries are written by triggers in the transaction of each change
 * (src/stores/audit.ts), never here. Old entries are deleted in slices; a slice that fails is repeated.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { Actor } from '#src/stores/audit.ts'
import { timeOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

export interface AuditEntry {
  readonly id: string
  readonly at: Date
  readonly workspaceId: string | null
  readonly actorKind: Actor['kind']
  /** As `Actor.name`. */
  readonly actor: string
  /** The present name of a key; null if the actor is no key, or the key was deleted. */
  readonly keyName: string | null
  readonly address: string | null
  readonly requestId: string | null
  readonly action: string
  readonly kind: string
  readonly object: string
  readonly change: 'create' | 'update' | 'delete'
  readonly before: object | null
  readonly after: object | null
}

export interface AuditFilter {
  /** Null: of all workspaces. */
  readonly workspaceId: string | null
  readonly kind?: string | undefined
  readonly object?: string | undefined
  readonly action?: string | undefined
  readonly actor?: string | undefined
  /** The id of an entry: only older ones. */
  readonly before?: string | undefined
}

const LIST = sql`
  SELECT l.id, l.workspace_id AS "workspaceId", l.actor_kind AS "actorKind", l.actor, k.name AS "keyName", l.address,
    l.request_id AS "requestId", l.action, l.kind, l.object, l.change, l.before, l.after
  FROM audit_log l
  LEFT JOIN api_keys k ON l.actor_kind = 'key' AND k.id::text = l.actor
  WHERE ($1::uuid IS NULL OR l.workspace_id = $1)
    AND ($2::text IS NULL OR l.kind = $2)
    AND ($3::text IS NULL OR l.object = $3)
    AND ($4::text IS NULL OR l.action = $4)
    AND ($5::text IS NULL OR l.actor = $5)
    AND ($6::uuid IS NULL OR l.id < $6)
  ORDER BY l.id DESC
  LIMIT $7
`

/** The newest first. */
export async function listAuditEntries(db: Queryable, filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
  const { workspaceId, kind, object, action, actor, before } = filter
  const values = [workspaceId, kind, object, action, actor, before].map((value) => value ?? null)
  const { rows } = await db.query<Omit<AuditEntry, 'at'>>(LIST, [...values, limit])
  return rows.map((row) => ({ ...row, at: new Date(timeOf(row.id)) }))
}

const SLICE = 10_000

/** Deletes entries older than the days, at most a slice. Returns true if there may be more. */
export async function clearOldAuditEntries(db: Queryable, days: number): Promise<boolean> {
  const { rowCount } = await db.query(
    sql`
      DELETE FROM audit_log
      WHERE id IN (
        SELECT id
        FROM audit_log
        WHERE id < (
          lpad(to_hex((extract(epoch FROM now() - make_interval(days => $1)) * 1000)::bigint), 12, '0') ||
          repeat('0', 20)
        )::uuid
        ORDER BY id
        LIMIT ${SLICE}
      )
    `,
    [days],
  )
  return rowCount === SLICE
}
