/**
 * Finds users of a template: active or paused automations, in any version that still has contacts, and campaigns that
 * are scheduled or sending. Drafts do not count; they are validated when they start.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const FIND_USAGE = sql`
  SELECT 'automation' AS kind, a.name
  FROM automations a
  JOIN automation_versions v ON v.automation_id = a.id
  WHERE a.workspace_id = $1
    AND a.status IN ('active', 'paused')
    AND jsonb_path_exists(v.steps, '$.**.template_id ? (@ == $id)', jsonb_build_object('id', $2::text))
    AND (
      v.version = a.version
      OR EXISTS (
        SELECT FROM enrolments e
        WHERE e.automation_id = a.id AND greatest(e.version, a.moves_below) = v.version AND e.state = 'active'
      )
    )
  UNION ALL
  SELECT 'campaign', name
  FROM campaigns
  WHERE workspace_id = $1 AND template_id = $2::uuid AND status IN ('SCHEDULED', 'SENDING', 'PAUSED')
  LIMIT 1
`

const COUNT_USES = sql`
  SELECT used.id,
    (
      SELECT count(*)
      FROM automations a
      JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version
      WHERE a.workspace_id = $1
        AND a.status IN ('active', 'paused')
        AND jsonb_path_exists(v.steps, '$.**.template_id ? (@ == $id)', jsonb_build_object('id', used.id::text))
    )::integer AS automations,
    (
      SELECT count(*)
      FROM campaigns c
      WHERE c.workspace_id = $1 AND c.template_id = used.id AND c.status IN ('SCHEDULED', 'SENDING', 'PAUSED')
    )::integer AS campaigns
  FROM unnest($2::uuid[]) AS used (id)
`

export interface TemplateUses {
  readonly id: string
  /** Active or paused ones whose present version uses it. */
  readonly automations: number
  /** Scheduled, sending or paused ones. */
  readonly campaigns: number
}

/** Counts what uses each of a page of templates. */
export async function countTemplateUses(
  db: Queryable,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TemplateUses>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<TemplateUses>(COUNT_USES, [workspaceId, ids])
  return new Map(rows.map((row) => [row.id, row]))
}

export interface TemplateUsage {
  readonly kind: 'automation' | 'campaign'
  readonly name: string
}

/** Finds one user of the template, or null. `id` is a UUID in lower case. */
export async function findTemplateUsage(db: Queryable, workspaceId: string, id: string): Promise<TemplateUsage | null> {
  const { rows } = await db.query<TemplateUsage>(FIND_USAGE, [workspaceId, id])
  return rows[0] ?? null
}
