/**
 * Segments of a workspace, each a name for a saved filter: create, find, list, update, delete. Every query names the
 * workspace, so no tenant sees another's segments.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { Filter } from './filter.ts'

export const MAX_SEGMENTS = 500

export interface NewSegment {
  readonly name: string
  readonly description: string | null
  /** Only members of this audience; null: all contacts of the workspace. */
  readonly audienceId: string | null
  readonly filter: Filter
}

export interface Segment extends NewSegment {
  readonly id: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** An omitted field keeps its value. */
export type SegmentChange = { readonly [K in keyof NewSegment]?: NewSegment[K] | undefined }

const COLUMNS = sql`
  id, name, description, audience_id AS "audienceId", filter, created_at AS "createdAt", updated_at AS "updatedAt"
`

/** Null if the workspace has reached MAX_SEGMENTS. */
export async function createSegment(db: Queryable, workspaceId: string, segment: NewSegment): Promise<Segment | null> {
  const { rows } = await db.query<Segment>(
    sql`
      INSERT INTO segments (id, workspace_id, name, description, audience_id, filter)
      SELECT $2, $1, $3, $4, $5, $6
      WHERE (SELECT count(*) FROM segments WHERE workspace_id = $1) < ${MAX_SEGMENTS}
      RETURNING ${COLUMNS}
    `,
    [workspaceId, newId(), segment.name, segment.description, segment.audienceId, JSON.stringify(segment.filter)],
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

/** Newest first. */
export function listSegments(db: Queryable, workspaceId: string, page: PageRequest): Promise<Page<Segment>> {
  return readPage(
    db,
    { columns: COLUMNS, from: 'segments', where: 'workspace_id = $1', order: newestFirst(), values: [workspaceId] },
    page,
  )
}

/** Null if the workspace has no such segment. */
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

/** True if it existed. */
export async function deleteSegment(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  return (await db.query('DELETE FROM segments WHERE workspace_id = $1 AND id = $2', [workspaceId, id])).rowCount === 1
}
