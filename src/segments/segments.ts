/** Segments of a workspace: a name for a filter; made, found, listed, changed, deleted; always together with the workspace's id. */
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { readPage, type Page, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { Filter } from './filter.ts'

export const MAX_SEGMENTS = 500

export interface SegmentOrder {
  readonly name: string
  readonly description: string | null
  /** Only its members; null: all contacts of the workspace. */
  readonly audienceId: string | null
  readonly filter: Filter
}

export interface Segment extends SegmentOrder {
  readonly id: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What is left out stays as it is. */
export type SegmentChange = { readonly [K in keyof SegmentOrder]?: SegmentOrder[K] | undefined }

const COLUMNS = sql`
  id, name, description, audience_id AS "audienceId", filter, created_at AS "createdAt", updated_at AS "updatedAt"
`

/** Null when the workspace has as many as it may. */
export async function createSegment(db: Queryable, workspaceId: string, order: SegmentOrder): Promise<Segment | null> {
  const { rows } = await db.query<Segment>(
    sql`
      INSERT INTO segments (id, workspace_id, name, description, audience_id, filter)
      SELECT $2, $1, $3, $4, $5, $6
      WHERE (SELECT count(*) FROM segments WHERE workspace_id = $1) < ${MAX_SEGMENTS}
      RETURNING ${COLUMNS}
    `,
    [workspaceId, newId(), order.name, order.description, order.audienceId, JSON.stringify(order.filter)],
  )
  return rows[0] ?? null
}

export async function findSegment(db: Queryable, workspaceId: string, id: string): Promise<Segment | null> {
  const { rows } = await db.query<Segment>(`SELECT ${COLUMNS} FROM segments WHERE workspace_id = $1 AND id = $2`, [
    workspaceId,
    id,
  ])
  return rows[0] ?? null
}

/** The newest first. */
export function listSegments(db: Queryable, workspaceId: string, wish: PageWish): Promise<Page<Segment>> {
  return readPage(
    db,
    { columns: COLUMNS, from: 'segments', where: 'workspace_id = $1', order: 'id DESC', values: [workspaceId] },
    wish,
  )
}

/** Null when there is none. */
export async function updateSegment(
  db: Queryable,
  workspaceId: string,
  id: string,
  change: SegmentChange,
): Promise<Segment | null> {
  const { rows } = await db.query<Segment>(
    sql`
      UPDATE segments
      SET name = coalesce($3, name),
        description = CASE WHEN $4 THEN $5 ELSE description END,
        audience_id = CASE WHEN $6 THEN $7::uuid ELSE audience_id END,
        filter = coalesce($8::jsonb, filter),
        updated_at = now()
      WHERE workspace_id = $1 AND id = $2
      RETURNING ${COLUMNS}
    `,
    [
      workspaceId,
      id,
      change.name ?? null,
      change.description !== undefined,
      change.description ?? null,
      change.audienceId !== undefined,
      change.audienceId ?? null,
      change.filter === undefined ? null : JSON.stringify(change.filter),
    ],
  )
  return rows[0] ?? null
}

/** True when it was there. */
export async function deleteSegment(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  return (await db.query('DELETE FROM segments WHERE workspace_id = $1 AND id = $2', [workspaceId, id])).rowCount === 1
}
