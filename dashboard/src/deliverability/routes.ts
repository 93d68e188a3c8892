import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** What receivers do with the mail of the workspace. */
export const deliverabilityRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/deliverability',
    component: lazyRouteComponent(() => import('./deliverability-page.tsx'), 'DeliverabilityPage'),
  }),
] as const
