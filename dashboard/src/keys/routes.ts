import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** API keys: sending keys and Admin keys. */
export const keyRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/keys',
    component: lazyRouteComponent(() => import('./keys-page.tsx'), 'KeysPage'),
  }),
] as const
