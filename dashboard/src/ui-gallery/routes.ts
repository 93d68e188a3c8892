import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '#dashboard/src/shell/routes.tsx'

/** Every component of the design system on one page. */
export const galleryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/ui',
  component: lazyRouteComponent(() => import('#dashboard/src/ui/gallery/ui-gallery.tsx'), 'UiGallery'),
})
