/** What surrounds the pages: the session, then the navigation of a workspace or of the operator. */
import { Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useChanges } from '#dashboard/src/api/changes.ts'
import { WorkspaceContext } from '#dashboard/src/api/queries.ts'
import { SignInPage } from '#dashboard/src/session/sign-in-page.tsx'
import {
  lastWorkspace,
  rememberWorkspace,
  SessionProvider,
  useSession,
  useSignOut,
} from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { ErrorState } from '#dashboard/src/ui/error-state.tsx'
import { AppLayout } from './app-layout.tsx'
import { ForbiddenPage } from './forbidden-page.tsx'
import { OPERATOR_NAVIGATION, WORKSPACE_NAVIGATION, type NavigationItem } from './navigation.ts'
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
  const workspace = lastWorkspace(me)
  const target = workspace === undefined ? null : workspacePath(workspace.id, '/start')
  const operatorTarget = me.is_operator ? operatorPath('/desk') : null
  const to = target ?? operatorTarget
  useEffect(() => {
    if (to !== null) void navigate({ to, replace: true })
  }, [navigate, to])
  return to === null ? <NoWorkspace /> : null
}

function NoWorkspace(): ReactNode {
  const { shell } = useTexts()
  const signOut = useSignOut()
  return (
    <main id="content" className="mx-auto max-w-xl p-8">
      <EmptyState
        isPage
        title={shell.noWorkspace}
        text={shell.noWorkspaceText}
        action={
          <>
            <ButtonLink href="/account">{shell.account}</ButtonLink>
            <Button onClick={signOut}>{shell.signOut}</Button>
          </>
        }
      />
    </main>
  )
}

export function WorkspaceFrame(): ReactNode {
  const { workspace: id = '' } = useParams({ strict: false })
  const workspace = useSession().workspaces.find((one) => one.id === id)
  const connection = useChanges(id, workspace !== undefined)
  useEffect(() => {
    if (workspace !== undefined) rememberWorkspace(workspace.id)
  }, [workspace])
  const { pathname } = useLocation()
  const { shell } = useTexts()
  if (workspace === undefined) return <NotFoundPage />
  const maySee = ({ permission }: NavigationItem): boolean =>
    permission === undefined || workspace.permissions.includes(permission as never)
  const groups = WORKSPACE_NAVIGATION.map(({ title, items }) => ({ title, items: items.filter(maySee) })).filter(
    ({ items }) => items.length > 0,
  )
  const base = workspacePath(workspace.id, '')
  const page = WORKSPACE_NAVIGATION.flatMap(({ items }) => items).find(({ path }) =>
    `${pathname}/`.startsWith(`${base}${path}/`),
  )
  return (
    <WorkspaceContext value={workspace.id}>
      <AppLayout groups={groups} basePath={base} workspace={workspace} connection={connection}>
        {page === undefined || maySee(page) ? (
          <Outlet key={workspace.id} />
        ) : (
          <ForbiddenPage title={page.label(shell.navigation)} />
        )}
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
