/** All addresses of the dashboard, from the lists of its parts. */
import { createRouter } from '@tanstack/react-router'
import { campaignRoutes } from '#dashboard/src/campaigns/routes.ts'
import { automationRoutes } from '#dashboard/src/automations/routes.ts'
import { domainRoutes } from '#dashboard/src/domains/routes.ts'
import { messageRoutes } from '#dashboard/src/messages/routes.ts'
import { keyRoutes } from '#dashboard/src/keys/routes.ts'
import { webhookRoutes } from '#dashboard/src/webhooks/routes.ts'
import { inboxRoutes } from '#dashboard/src/inbox/routes.ts'
import { smtpRoutes } from '#dashboard/src/smtp/routes.ts'
import { accountRoutes } from '#dashboard/src/accounts/routes.ts'
import { startRoutes } from '#dashboard/src/start/routes.ts'
import { receivedRoutes } from '#dashboard/src/received/routes.ts'
import { overviewRoutes } from '#dashboard/src/overview/routes.ts'
import { operatorRoutes } from '#dashboard/src/operator/routes.ts'
import { audienceRoutes } from '#dashboard/src/audiences/routes.ts'
import { contactRoutes } from '#dashboard/src/contacts/routes.ts'
import { suppressionRoutes } from '#dashboard/src/suppressions/routes.ts'
import { galleryRoute } from '#dashboard/src/ui-gallery/routes.ts'
import { deliverabilityRoutes } from '#dashboard/src/deliverability/routes.ts'
import { ownAccountRoutes } from '#dashboard/src/account/routes.ts'
import { auditRoutes } from '#dashboard/src/audit/routes.ts'
import { settingsRoutes } from '#dashboard/src/settings/routes.ts'
import { teamRoutes } from '#dashboard/src/team/routes.ts'
import { parseSearch, stringifySearch } from '#dashboard/src/shell/paths.ts'
import { operatorRoute, rootRoute, startRoute, workspaceRoute } from '#dashboard/src/shell/routes.tsx'
import { templateRoutes } from '#dashboard/src/templates/routes.ts'

const routeTree = rootRoute.addChildren([
  startRoute,
  galleryRoute,
  ...ownAccountRoutes,
  workspaceRoute.addChildren([
    ...automationRoutes,
    ...overviewRoutes,
    ...teamRoutes,
    ...deliverabilityRoutes,
    ...settingsRoutes,
    ...auditRoutes,
    ...startRoutes,
    ...campaignRoutes,
    ...domainRoutes,
    ...accountRoutes,
    ...smtpRoutes,
    ...webhookRoutes,
    ...keyRoutes,
    ...messageRoutes,
    ...inboxRoutes,
    ...templateRoutes,
    ...receivedRoutes,
    ...audienceRoutes,
    ...contactRoutes,
    ...suppressionRoutes,
  ]),
  operatorRoute.addChildren([...operatorRoutes]),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
})
