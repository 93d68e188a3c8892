import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** Campaigns: the list, one with its results, and the four steps of a draft. */
export const campaignRoutes = [
  createRoute({
    ...parent,
    path: '/campaigns',
    component: lazyRouteComponent(() => import('./campaigns-page.tsx'), 'CampaignsPage'),
  }),
  createRoute({
    ...parent,
    path: '/campaigns/$id',
    component: lazyRouteComponent(() => import('./campaign-page.tsx'), 'CampaignPage'),
  }),
  createRoute({
    ...parent,
    path: '/campaigns/$id/edit/$step',
    component: lazyRouteComponent(() => import('./edit-page.tsx'), 'EditPage'),
  }),
] as const
