/** Resolves `--workspace` of the commands: an id, the workspace part of a key, or a unique name. */
import type { Queryable } from '#src/stores/db.ts'
import { findWorkspace, type Workspace } from '#src/workspaces/workspaces.ts'
import { UserError } from '#bin/supervisor/user-error.ts'

/** @throws UserError if no workspace matches, or more than one. */
export async function requireWorkspace(db: Queryable, text: string): Promise<Workspace> {
  const found = await findWorkspace(db, text)
  if (found.kind === 'found') return found.workspace
  if (found.kind === 'none')
    throw new UserError(`No workspace ${JSON.stringify(text)} exists. See mailstead workspace list.`)
  throw new UserError(`Several workspaces are named ${JSON.stringify(text)}. Use an id: ${found.ids.join(', ')}`)
}
