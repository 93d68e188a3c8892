import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** The domains that the workspace sends from. */
export const domainRoutes = [
  createRoute({
    ...parent,
    path: '/domains',
    component: lazyRouteComponent(() => import('./domains-page.tsx'), 'DomainsPage'),
  }),
  createRoute({
    ...parent,
    path: '/domains/$id',
    component: lazyRouteComponent(() => import('./domain-page.tsx'), 'DomainPage'),
  }),
] as const
