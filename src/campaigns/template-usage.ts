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

export interface TemplateUsage {
  readonly kind: 'automation' | 'campaign'
  readonly name: string
}

/** Finds one user of the template, or null. `id` is a UUID in lower case. */
export async function findTemplateUsage(db: Queryable, workspaceId: string, id: string): Promise<TemplateUsage | null> {
  const { rows } = await db.query<TemplateUsage>(FIND_USAGE, [workspaceId, id])
  return rows[0] ?? null
}
