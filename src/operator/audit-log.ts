/**
 * Reads and clears the audit log. Its entries are written by triggers in the transaction of each change
 * (src/stores/audit.ts), never here. Old entries are deleted in slices; a slice that fails is repeated.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { Actor } from '#src/stores/audit.ts'
import { timeOf } from '#src/platform/id.ts'
import { mapPage, newestFirst, readUncounted, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'

export interface AuditEntry {
  readonly id: string
  readonly at: Date
  readonly workspaceId: string | null
  readonly actorKind: Actor['kind']
  /** As `Actor.name`. */
  readonly actor: string
  /** The present name of a key or user; null if the actor is neither, or was deleted. */
  readonly actorName: string | null
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
}

const COLUMNS = sql`
  l.id, l.workspace_id AS "workspaceId", l.actor_kind AS "actorKind", l.actor,
    coalesce(k.name, p.name) AS "actorName", l.address, l.request_id AS "requestId", l.action, l.kind, l.object,
    l.change, l.before, l.after
`
/** A uuid, so that the key is found by its index. */
const KEY_OF_ACTOR = `CASE WHEN l.actor_kind = 'key' AND l.actor ~ '^[0-9a-f-]{36}$' THEN l.actor::uuid END`
const USER_OF_ACTOR = sql`
  CASE WHEN l.actor_kind IN ('user', 'operator') AND l.actor ~ '^[0-9a-f-]{36}$' THEN l.actor::uuid END
`
const WHERE = sql`
  ($1::uuid IS NULL OR l.workspace_id = $1)
    AND ($2::text IS NULL OR l.kind = $2)
    AND ($3::text IS NULL OR l.object = $3)
    AND ($4::text IS NULL OR l.action = $4)
    AND ($5::text IS NULL OR l.actor = $5)
`

/** The newest first. */
export async function listAuditEntries(
  db: Queryable,
  filter: AuditFilter,
  page: Pick<PageRequest, 'limit' | 'at'>,
): Promise<Page<AuditEntry>> {
  const { workspaceId, kind, object, action, actor } = filter
  const values = [workspaceId, kind, object, action, actor].map((value) => value ?? null)
  const found = await readUncounted<Omit<AuditEntry, 'at'>>(
    db,
    {
      columns: COLUMNS,
      from: 'audit_log l',
      joins: `LEFT JOIN api_keys k ON k.id = ${KEY_OF_ACTOR} LEFT JOIN users p ON p.id = ${USER_OF_ACTOR}`,
      where: WHERE,
      order: newestFirst('l.id'),
      values,
    },
    page,
  )
  return mapPage(found, (row) => ({ ...row, at: new Date(timeOf(row.id)) }))
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
