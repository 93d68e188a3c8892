import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { workspaceRoute } from '#dashboard/src/shell/routes.tsx'

/** Plan, usage, retention and tracking of the workspace. */
export const settingsRoutes = [
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/settings',
    component: lazyRouteComponent(() => import('./settings-page.tsx'), 'SettingsPage'),
  }),
  createRoute({
    getParentRoute: () => workspaceRoute,
    path: '/settings/branding',
    component: lazyRouteComponent(() => import('./branding-page.tsx'), 'BrandingPage'),
  }),
] as const
