import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** What happens to the mail of the workspace, in figures, and what needs attention. */
export const overviewRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/overview',
    component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
  }),
] as const
