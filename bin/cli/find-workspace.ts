/** Resolves `--workspace` of the commands: an id, the workspace part of a key, or a unique name. */
import type { Queryable } from '#src/stores/db.ts'
import { findWorkspace, listWorkspaces, type Workspace } from '#src/workspaces/workspaces.ts'
import { UserError } from '#bin/supervisor/user-error.ts'

/** @throws UserError if no workspace matches, or more than one. */
export async function requireWorkspace(db: Queryable, text: string): Promise<Workspace> {
  const found = await findWorkspace(db, text)
  if (found.kind === 'found') return found.workspace
  if (found.kind === 'none')
    throw new UserError(`No workspace ${JSON.stringify(text)} exists.`, 'See mailstead workspace list.')
  throw new UserError(`Several workspaces are named ${JSON.stringify(text)}.`, `Use an id: ${found.ids.join(', ')}`)
}

/** The given workspace; without one the only workspace of the installation. @throws UserError */
export async function requireOneWorkspace(db: Queryable, text: string | null): Promise<Workspace> {
  if (text !== null) return requireWorkspace(db, text)
  const [only, ...others] = await listWorkspaces(db, 2)
  if (only === undefined)
    throw new UserError('No workspace exists.', 'Create one: mailstead workspace create --name NAME')
  if (others.length === 0) return only
  throw new UserError('Several workspaces exist.', 'Select one with --workspace; mailstead workspace list shows them.')
}
