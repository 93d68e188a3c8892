import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** What was sent, is being sent and is scheduled. */
export const messageRoutes = [
  createRoute({
    ...parent,
    path: '/messages',
    component: lazyRouteComponent(() => import('./messages-page.tsx'), 'MessagesPage'),
  }),
  createRoute({
    ...parent,
    path: '/messages/scheduled',
    component: lazyRouteComponent(() => import('./scheduled-page.tsx'), 'ScheduledPage'),
  }),
  createRoute({
    ...parent,
    path: '/messages/$id',
    component: lazyRouteComponent(() => import('./message-page.tsx'), 'MessagePage'),
  }),
] as const
