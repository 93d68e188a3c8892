import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** SMTP servers and mailboxes that mail leaves through. */
export const accountRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/accounts',
    component: lazyRouteComponent(() => import('./accounts-page.tsx'), 'AccountsPage'),
  }),
] as const
