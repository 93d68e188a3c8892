import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** The first run: what is missing until mail is delivered. */
export const startRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/start',
    component: lazyRouteComponent(() => import('./start-page.tsx'), 'StartPage'),
  }),
] as const
