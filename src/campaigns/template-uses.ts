/**
 * Who would miss a template: automations that run or may go on, in any version that somebody is in, and campaigns that are set to send. A
 * draft is judged when it begins.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const USES = sql`
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

export interface TemplateUse {
  readonly kind: 'automation' | 'campaign'
  readonly name: string
}

/** One that uses it, or null. `id` is a uuid in lower case. */
export async function findTemplateUse(db: Queryable, workspaceId: string, id: string): Promise<TemplateUse | null> {
  const { rows } = await db.query<TemplateUse>(USES, [workspaceId, id])
  return rows[0] ?? null
}
