import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** Where events are posted to. */
export const webhookRoutes = [
  createRoute({
    ...parent,
    path: '/webhooks',
    component: lazyRouteComponent(() => import('./webhooks-page.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    ...parent,
    path: '/webhooks/$id',
    component: lazyRouteComponent(() => import('./webhook-page.tsx'), 'WebhookPage'),
  }),
] as const
