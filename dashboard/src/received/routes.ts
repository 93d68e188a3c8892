import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** Mail that inbound routes received, and the routes. */
export const receivedRoutes = [
  createRoute({
    ...parent,
    path: '/received',
    component: lazyRouteComponent(() => import('./received-page.tsx'), 'ReceivedPage'),
  }),
  createRoute({
    ...parent,
    path: '/received/routes',
    component: lazyRouteComponent(() => import('./inbound-routes-page.tsx'), 'InboundRoutesPage'),
  }),
  createRoute({
    ...parent,
    path: '/received/$id',
    component: lazyRouteComponent(() => import('./received-mail-page.tsx'), 'ReceivedMailPage'),
  }),
] as const
