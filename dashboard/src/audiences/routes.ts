import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** Lists of contacts, with their forms. */
export const audienceRoutes = [
  createRoute({
    ...parent,
    path: '/audiences',
    component: lazyRouteComponent(() => import('./audiences-page.tsx'), 'AudiencesPage'),
  }),
  createRoute({
    ...parent,
    path: '/audiences/$id',
    component: lazyRouteComponent(() => import('./audience-page.tsx'), 'AudiencePage'),
  }),
] as const
