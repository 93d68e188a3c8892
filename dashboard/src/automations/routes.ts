import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** Automations: the list, and one with its flow, contacts and webhook calls. */
export const automationRoutes = [
  createRoute({
    ...parent,
    path: '/automations',
    component: lazyRouteComponent(() => import('./automations-page.tsx'), 'AutomationsPage'),
  }),
  createRoute({
    ...parent,
    path: '/automations/$id',
    component: lazyRouteComponent(() => import('./automation-page.tsx'), 'AutomationPage'),
  }),
] as const
