import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { operatorRoute } from '#dashboard/src/shell/routes.tsx'

const parent = { getParentRoute: () => operatorRoute }

/** What happens to the mail of all workspaces. */
const mailRoutes = [
  createRoute({ ...parent, path: '/desk', component: lazyRouteComponent(() => import('./desk-page.tsx'), 'DeskPage') }),
  createRoute({
    ...parent,
    path: '/queue',
    component: lazyRouteComponent(() => import('./queue-page.tsx'), 'QueuePage'),
  }),
  createRoute({
    ...parent,
    path: '/receivers',
    component: lazyRouteComponent(() => import('./receivers-page.tsx'), 'ReceiversPage'),
  }),
  createRoute({
    ...parent,
    path: '/receivers/$name',
    component: lazyRouteComponent(() => import('./receiver-page.tsx'), 'ReceiverPage'),
  }),
  createRoute({
    ...parent,
    path: '/shaping',
    component: lazyRouteComponent(() => import('./shaping-page.tsx'), 'ShapingPage'),
  }),
  createRoute({
    ...parent,
    path: '/sources',
    component: lazyRouteComponent(() => import('./sources-page.tsx'), 'SourcesPage'),
  }),
] as const

/** What was reported about it. */
const reportRoutes = [
  createRoute({
    ...parent,
    path: '/reports',
    component: lazyRouteComponent(() => import('./reports-page.tsx'), 'ReportsPage'),
  }),
  createRoute({
    ...parent,
    path: '/held',
    component: lazyRouteComponent(() => import('./held-page.tsx'), 'HeldPage'),
  }),
  createRoute({
    ...parent,
    path: '/reviews',
    component: lazyRouteComponent(() => import('./reviews-page.tsx'), 'ReviewsPage'),
  }),
  createRoute({
    ...parent,
    path: '/reviews/$id',
    component: lazyRouteComponent(() => import('./review-page.tsx'), 'ReviewPage'),
  }),
  createRoute({ ...parent, path: '/tls', component: lazyRouteComponent(() => import('./tls-page.tsx'), 'TlsPage') }),
  createRoute({
    ...parent,
    path: '/dmarc',
    component: lazyRouteComponent(() => import('./dmarc-page.tsx'), 'DmarcPage'),
  }),
] as const

/** The installation and its people. */
const administrationRoutes = [
  createRoute({
    ...parent,
    path: '/checks',
    component: lazyRouteComponent(() => import('./checks-page.tsx'), 'ChecksPage'),
  }),
  createRoute({
    ...parent,
    path: '/notices',
    component: lazyRouteComponent(() => import('./notices-page.tsx'), 'NoticesPage'),
  }),
  createRoute({
    ...parent,
    path: '/nodes',
    component: lazyRouteComponent(() => import('./nodes-page.tsx'), 'NodesPage'),
  }),
  createRoute({
    ...parent,
    path: '/workspaces',
    component: lazyRouteComponent(() => import('./workspaces-page.tsx'), 'WorkspacesPage'),
  }),
  createRoute({
    ...parent,
    path: '/workspaces/$id',
    component: lazyRouteComponent(() => import('./workspace-page.tsx'), 'WorkspacePage'),
  }),
  createRoute({
    ...parent,
    path: '/users',
    component: lazyRouteComponent(() => import('./users-page.tsx'), 'UsersPage'),
  }),
  createRoute({
    ...parent,
    path: '/audit',
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
  }),
] as const

export const operatorRoutes = [...mailRoutes, ...reportRoutes, ...administrationRoutes] as const
