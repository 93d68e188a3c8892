/**
 * The addresses of the dashboard. `/w/<workspace>/…` are the pages of a workspace, `/operator/…` those of the operator.
 * Each part of the dashboard lists its own pages in a `routes.ts`; `router.tsx` puts them together.
 */
import { createRootRoute, createRoute } from '@tanstack/react-router'
import { OperatorFrame, RootFrame, StartRedirect, WorkspaceFrame } from './frames.tsx'
import { NotFoundPage } from './not-found-page.tsx'

export const rootRoute = createRootRoute({ component: RootFrame, notFoundComponent: NotFoundPage })

/** Leads to the workspace that the person used last. */
export const startRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: StartRedirect })

export const workspaceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/w/$workspace',
  component: WorkspaceFrame,
  notFoundComponent: NotFoundPage,
})

export const operatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator',
  component: OperatorFrame,
  notFoundComponent: NotFoundPage,
})
