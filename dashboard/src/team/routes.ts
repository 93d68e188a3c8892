import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** Members of the workspace and their roles. */
export const teamRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/team',
    component: lazyRouteComponent(() => import('./team-page.tsx'), 'TeamPage'),
  }),
] as const
