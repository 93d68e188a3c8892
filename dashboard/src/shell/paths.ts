/** Builds addresses of pages. `useWorkspacePath()('/messages', { status: 'failed' })` stays in the workspace. */
import { use } from 'react'
import { queryOf } from '#dashboard/src/api/endpoint.ts'
import { WorkspaceContext } from '#dashboard/src/api/queries.ts'

export type PathBuilder = (path: string, search?: object) => string

export function useWorkspacePath(): PathBuilder {
  const workspaceId = use(WorkspaceContext)
  return (path, search = {}) => workspacePath(workspaceId ?? '', path, search)
}

export function workspacePath(workspaceId: string, path: string, search: object = {}): string {
  return `/w/${workspaceId}${path}${queryOf(search)}`
}

export function operatorPath(path: string, search: object = {}): string {
  return `/operator${path}${queryOf(search)}`
}

/** All values of an address are texts; the router by itself would write them as JSON: ?create=%221%22. */
export function stringifySearch(search: object): string {
  return queryOf(search)
}

export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}
