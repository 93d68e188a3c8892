import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** Who changed what in the workspace. */
export const auditRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/audit',
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
  }),
] as const
