/** What surrounds the pages: the session, then the navigation of a workspace or of the operator. */
import { Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useChanges } from '#dashboard/src/api/changes.ts'
import { WorkspaceContext } from '#dashboard/src/api/queries.ts'
import { SignInPage } from '#dashboard/src/session/sign-in-page.tsx'
import { lastWorkspace, rememberWorkspace, SessionProvider, useSession } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { ErrorState } from '#dashboard/src/ui/error-state.tsx'
import { AppLayout } from './app-layout.tsx'
import { OPERATOR_NAVIGATION, WORKSPACE_NAVIGATION } from './navigation.ts'
import { NotFoundPage } from './not-found-page.tsx'
import { operatorPath, workspacePath } from './paths.ts'

export function RootFrame(): ReactNode {
  return (
    <SessionProvider
      signIn={<SignInPage />}
      failed={(error, retry) => (
        <div className="mx-auto max-w-xl p-8">
          <ErrorState title={error.message} requestId={error.requestId ?? undefined} onRetry={retry} />
        </div>
      )}
    >
      <Outlet />
    </SessionProvider>
  )
}

export function StartRedirect(): ReactNode {
  const me = useSession()
  const navigate = useNavigate()
  const { shell } = useTexts()
  const workspace = lastWorkspace(me)
  const target = workspace === undefined ? null : workspacePath(workspace.id, '/start')
  const operatorTarget = me.is_operator ? operatorPath('/desk') : null
  const to = target ?? operatorTarget
  useEffect(() => {
    if (to !== null) void navigate({ to, replace: true })
  }, [navigate, to])
  return to === null ? <EmptyState title={shell.noWorkspace} text={shell.noWorkspaceText} /> : null
}

export function WorkspaceFrame(): ReactNode {
  const { workspace: id = '' } = useParams({ strict: false })
  const workspace = useSession().workspaces.find((one) => one.id === id)
  const connection = useChanges(id, workspace !== undefined)
  useEffect(() => {
    if (workspace !== undefined) rememberWorkspace(workspace.id)
  }, [workspace])
  if (workspace === undefined) return <NotFoundPage />
  const groups = WORKSPACE_NAVIGATION.map(({ title, items }) => ({
    title,
    items: items.filter(
      ({ permission }) => permission === undefined || workspace.permissions.includes(permission as never),
    ),
  })).filter(({ items }) => items.length > 0)
  return (
    <WorkspaceContext value={workspace.id}>
      <AppLayout
        groups={groups}
        basePath={workspacePath(workspace.id, '')}
        workspace={workspace}
        connection={connection}
      >
        <Outlet key={workspace.id} />
      </AppLayout>
    </WorkspaceContext>
  )
}

export function OperatorFrame(): ReactNode {
  const me = useSession()
  const connection = useChanges(null, me.is_operator)
  if (!me.is_operator) return <NotFoundPage />
  return (
    <AppLayout groups={OPERATOR_NAVIGATION} basePath={operatorPath('')} workspace={null} connection={connection}>
      <Outlet />
    </AppLayout>
  )
}
