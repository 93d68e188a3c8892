import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** How programs send over SMTP. */
export const smtpRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/smtp',
    component: lazyRouteComponent(() => import('./smtp-page.tsx'), 'SmtpPage'),
  }),
] as const
