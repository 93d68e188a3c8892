import { adminListWorkspaces } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'

const MAX_KNOWN = 100

/** The name of a workspace by its id; the id itself beyond the first hundred. */
export function useWorkspaceNames(): (id: string) => string {
  const { data } = useApi(adminListWorkspaces, { query: { limit: MAX_KNOWN } }, { staleMs: 60_000 })
  const names = new Map(data?.data.workspaces.map((workspace) => [workspace.id, workspace.name]))
  return (id) => names.get(id) ?? id
}
