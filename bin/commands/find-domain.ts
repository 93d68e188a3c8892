/** Finds the sending domain that an argument of a command names, by name or id. */
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { searchDomains, type Domain } from '#src/domains/domains.ts'
import type { Queryable } from '#src/stores/db.ts'

/** Several workspaces may have added the same name; then --workspace is required. */
export async function requireDomain(db: Queryable, text: string, workspaceText: string | null): Promise<Domain> {
  const workspaceId = workspaceText === null ? null : (await requireWorkspace(db, workspaceText)).id
  const [domain, ...others] = await searchDomains(db, text, workspaceId)
  if (domain === undefined)
    throw new UserError(`No domain ${text} exists.`, 'See mailstead domain list; add one with mailstead domain add.')
  if (others.length === 0) return domain
  const claims = [domain, ...others].map((one) => `  ${one.workspaceId} (${one.status})`)
  throw new UserError(`Several workspaces have ${text}.`, `Select one with --workspace:\n${claims.join('\n')}`)
}
