import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => workspaceRoute }

/** Contacts, their imports, and segments of them. */
export const contactRoutes = [
  createRoute({
    ...parent,
    path: '/contacts',
    component: lazyRouteComponent(() => import('./contacts-page.tsx'), 'ContactsPage'),
  }),
  createRoute({
    ...parent,
    path: '/contacts/import',
    component: lazyRouteComponent(() => import('./import-wizard.tsx'), 'ImportWizard'),
  }),
  createRoute({
    ...parent,
    path: '/contacts/imports',
    component: lazyRouteComponent(() => import('./imports-page.tsx'), 'ImportsPage'),
  }),
  createRoute({
    ...parent,
    path: '/contacts/imports/$id',
    component: lazyRouteComponent(() => import('./import-page.tsx'), 'ImportPage'),
  }),
  createRoute({
    ...parent,
    path: '/contacts/segments',
    component: lazyRouteComponent(() => import('./segments-page.tsx'), 'SegmentsPage'),
  }),
  createRoute({
    ...parent,
    path: '/contacts/$id',
    component: lazyRouteComponent(() => import('./contact-page.tsx'), 'ContactPage'),
  }),
  createRoute({
    ...parent,
    path: '/segments/$id',
    component: lazyRouteComponent(() => import('./segment-page.tsx'), 'SegmentPage'),
  }),
] as const
