import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** What mail is made from: templates with their versions, and the partials that they share. */
export const templateRoutes = [
  createRoute({
    ...parent,
    path: '/templates',
    component: lazyRouteComponent(() => import('./templates-page.tsx'), 'TemplatesPage'),
  }),
  createRoute({
    ...parent,
    path: '/templates/new',
    component: lazyRouteComponent(() => import('./new-template-page.tsx'), 'NewTemplatePage'),
  }),
  createRoute({
    ...parent,
    path: '/templates/partials',
    component: lazyRouteComponent(() => import('./partials-page.tsx'), 'PartialsPage'),
  }),
  createRoute({
    ...parent,
    path: '/templates/partials/$name',
    component: lazyRouteComponent(() => import('./partial-page.tsx'), 'PartialPage'),
  }),
  createRoute({
    ...parent,
    path: '/templates/$id',
    component: lazyRouteComponent(() => import('./template-page.tsx'), 'TemplatePage'),
  }),
] as const
