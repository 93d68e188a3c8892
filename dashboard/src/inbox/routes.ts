import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** Mail that was captured instead of delivered. The list stays where it is while another mail is opened. */
export const inboxRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/inbox/{-$id}',
    component: lazyRouteComponent(() => import('./inbox-page.tsx'), 'InboxPage'),
  }),
] as const
