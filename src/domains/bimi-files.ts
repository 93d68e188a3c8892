/** Sets the files of the BIMI record of a domain. The next check is due at once; a worker that dies repeats it. */
import type { Context } from '#src/context.ts'
import { sql } from '#src/stores/sql.ts'
import type { BimiFiles } from './bimi-record.ts'
import { type Domain, findDomain } from './domains.ts'

/** Null if the workspace has no such domain. `files` null: no record. */
export async function setBimiFiles(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  workspaceId: string,
  id: string,
  files: BimiFiles | null,
): Promise<Domain | null> {
  const { rowCount } = await db.query(
    sql`
      UPDATE domains
      SET bimi_logo_url = $3, bimi_certificate_url = $4, check_due_at = least(check_due_at, $5)
      WHERE id = $1 AND workspace_id = $2
    `,
    [id, workspaceId, files?.logoUrl ?? null, files?.certificateUrl ?? null, new Date(clock.now())],
  )
  return rowCount === 1 ? findDomain(db, workspaceId, id) : null
}
