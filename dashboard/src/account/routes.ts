import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '#dashboard/src/shell/routes.tsx'

/** How a person signs in. It belongs to no workspace. */
export const ownAccountRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/account',
    component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
  }),
] as const
