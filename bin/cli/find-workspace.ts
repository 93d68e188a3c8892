/** `--workspace` of the commands: an id, a key part, or a name that only one workspace has. */
import type { Queryable } from '#src/stores/db.ts'
import { findWorkspace, type Workspace } from '#src/workspaces/workspaces.ts'
import { Trouble } from '#bin/supervisor/user-error.ts'

/** Throws Trouble when there is none, or more than one. */
export async function workspaceOf(db: Queryable, text: string): Promise<Workspace> {
  const found = await findWorkspace(db, text)
  if (found.kind === 'found') return found.workspace
  if (found.kind === 'none')
    throw new Trouble(`There is no workspace ${JSON.stringify(text)}. See mailstead workspace list.`)
  throw new Trouble(
    `Several workspaces are called ${JSON.stringify(text)}; say which by its id: ${found.ids.join(', ')}`,
  )
}
