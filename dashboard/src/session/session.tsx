/**
 * Who is signed in, what they may do, and in which workspaces. Every page below reads it with `useSession`; a page that
 * needs a permission asks `useCan`. The server decides in any case: this only hides what would be refused.
 */
import { useQueryClient } from '@tanstack/react-query'
import { createContext, use, useEffect, type ReactNode } from 'react'
import { ApiError } from '#dashboard/src/api/endpoint.ts'
import { getMe, logout, type MeAnswer } from '#dashboard/src/api/endpoints.ts'
import { ActionErrorContext, useAction, useApi, WorkspaceContext } from '#dashboard/src/api/queries.ts'

export type Me = MeAnswer['data']
export type Workspace = Me['workspaces'][number]

const SessionContext = createContext<Me | null>(null)
const LAST_WORKSPACE = 'mailstead.workspace'

interface SessionProviderProps {
  /** Shown while nobody is signed in. */
  readonly signIn: ReactNode
  /** Shown when the server cannot be asked. */
  readonly failed: (error: ApiError, retry: () => void) => ReactNode
  readonly children: ReactNode
}

/** Shows its children to people who are signed in. An answer 401 to any request ends the session here too. */
export function SessionProvider({ signIn, failed, children }: SessionProviderProps): ReactNode {
  const client = useQueryClient()
  const me = useApi(getMe, {}, { staleMs: 60_000 })
  useEffect(
    () =>
      client.getQueryCache().subscribe(({ query, type }) => {
        const { error } = query.state
        const isEnded = type === 'updated' && error instanceof ApiError && error.status === 401
        if (isEnded && query.queryKey[0] !== getMe.path) void client.refetchQueries({ queryKey: [getMe.path] })
      }),
    [client],
  )
  if (me.error?.status === 401) return signIn
  if (me.data !== undefined) return <SessionContext value={me.data.data}>{children}</SessionContext>
  return me.error === null ? null : failed(me.error, () => void me.refetch())
}

/** @throws outside of SessionProvider. */
export function useSession(): Me {
  const me = use(SessionContext)
  if (me === null) throw new Error('nobody is signed in here')
  return me
}

/** The workspace that the page shows. @throws outside of a workspace. */
export function useWorkspace(): Workspace {
  const id = use(WorkspaceContext)
  const found = useSession().workspaces.find((one) => one.id === id)
  if (found === undefined) throw new Error('this page belongs to no workspace')
  return found
}

/** Whether the role in this workspace has a permission, such as `mail:write`. */
export function useCan(): (permission: string) => boolean {
  const { permissions } = useWorkspace()
  return (permission) => permissions.includes(permission as never)
}

/** Ends the session and shows the page for signing in. If the server did not end it, an error says so. */
export function useSignOut(): () => void {
  const client = useQueryClient()
  const report = use(ActionErrorContext)
  const leave = (): void => {
    client.clear()
    globalThis.location.assign('/')
  }
  const { mutate } = useAction(logout, {
    onSuccess: leave,
    // it may have ended already
    onError: (error) => (error.status === 401 ? leave() : report(error)),
  })
  return () => mutate({})
}

/** The workspace that a person used last, if they are still a member; else their first one. */
export function lastWorkspace({ workspaces }: Me): Workspace | undefined {
  const last = readLast()
  return workspaces.find(({ id }) => id === last) ?? workspaces[0]
}

export function rememberWorkspace(id: string): void {
  try {
    localStorage.setItem(LAST_WORKSPACE, id)
  } catch {
    // without storage the first workspace is shown at the next visit
  }
}

function readLast(): string | null {
  try {
    return localStorage.getItem(LAST_WORKSPACE)
  } catch {
    return null
  }
}
