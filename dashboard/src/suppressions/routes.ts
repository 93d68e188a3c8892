import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** Addresses that receive no mail. */
export const suppressionRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/suppressions',
    component: lazyRouteComponent(() => import('./suppressions-page.tsx'), 'SuppressionsPage'),
  }),
] as const
