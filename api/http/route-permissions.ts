/**
 * What each endpoint of a workspace needs of a person who is signed in: one row for each permission, with the names of
 * its endpoints. An endpoint that is in no row is closed to people; a test reports it. KEYS_ONLY has those that are
 * meant to be. With the table of roles (src/people/roles.ts) it decides every request of a session. For API keys only
 * `access` of the endpoint counts.
 */
import { ROLES, type MemberRole, type Permission } from '#src/people/roles.ts'

const ROUTES_BY_PERMISSION: Readonly<Record<Permission, string>> = {
  'workspace:read': 'get-workspace get-attention get-checklist list-members leave-workspace',
  'workspace:write': 'change-workspace',
  'mail:read': `search-emails get-email get-email-by-path explain-email explain-email-by-path list-events
    get-statistics get-link-statistics get-deliverability
    get-captured-emails get-captured-email get-captured-email-raw list-scheduled stream-changes list-open-mail
    count-open-mail`,
  'mail:content': 'get-email-content get-email-source get-email-attempts',
  'mail:write': 'retry-email cancel-email resend-email cancel-scheduled',
  'mail:send': 'send-instant send-high send-async send-bulk schedule-email change-scheduled test-template',
  'mail:delete': 'delete-captured-email delete-captured-emails',
  'templates:read': `list-templates get-template list-template-versions get-template-version
    compare-template-versions list-partials get-partial preview-template check-template`,
  'templates:write': 'save-template delete-template save-partial delete-partial',
  'audiences:read': 'get-audiences get-audience get-branding',
  'audiences:write': `add-audience update-audience delete-audience change-branding set-logo delete-logo
    preview-branding`,
  'contacts:read': `get-contacts get-contact get-contact-history get-contact-memberships search-contacts
    list-contact-attributes list-imports get-import get-import-errors list-segments preview-segment get-segment
    list-segment-contacts`,
  'contacts:write': `add-contact update-contact delete-contact import-contacts cancel-import create-segment
    update-segment delete-segment change-contacts`,
  'contacts:export': 'export-contacts export-campaign-recipients export-suppressions',
  'campaigns:read': 'get-campaigns get-campaign list-campaign-recipients preview-campaign',
  'campaigns:write': 'create-campaign update-campaign delete-campaign',
  'campaigns:send': `start-campaign schedule-campaign recall-campaign pause-campaign resume-campaign cancel-campaign
    retry-campaign resend-campaign`,
  'automations:read': `get-automations get-automation show-automation get-automation-calls
    get-automation-subscribers get-automation-subscriber dry-run-automation`,
  'automations:write': `create-automation update-automation delete-automation track-event enroll-contact
    unenroll-contact`,
  'automations:secret': 'rotate-automation-webhook-secret',
  'suppressions:read': 'list-suppressions get-suppression',
  'suppressions:write': 'add-suppressions import-suppressions delete-suppression delete-suppressions',
  'domains:read': 'get-domains domain-status get-dmarc-summary list-dmarc-reports',
  'domains:write': 'add-domain verify-domain delete-domain rotate-dkim set-bimi',
  'accounts:read': 'list-accounts get-account',
  'accounts:write': 'create-account update-account delete-account test-account resume-account start-oauth',
  'tracking:read': 'get-tracking',
  'tracking:write': 'change-tracking',
  'webhooks:read': 'list-webhooks get-webhook list-webhook-deliveries',
  'webhooks:write': `create-webhook update-webhook update-webhook-by-query delete-webhook delete-webhook-by-query
    rotate-webhook-secret replay-webhook-delivery test-webhook`,
  'inbound:read': `list-inbound-routes get-inbound-route list-received-emails get-received-email
    get-received-email-source`,
  'inbound:write': `create-inbound-route update-inbound-route delete-inbound-route replay-received-email
    delete-received-email resend-forward-confirmation`,
  'keys:read': 'list-api-keys get-api-key',
  'keys:write': 'create-domain-key change-api-key rotate-api-key revoke-api-key',
  'admin-keys:create': 'create-admin-key',
  'privacy:manage': 'erase-person get-erasure export-person',
  'audit:read': 'list-audit-log',
  'members:manage': 'change-member remove-member list-invitations create-invitation revoke-invitation',
}

const SENDS = 'sends as the sender of a Regular key'

/** Endpoints of a workspace that no role opens, each with its reason. */
export const KEYS_ONLY: Readonly<Record<string, string>> = {
  'send-batch': SENDS,
  'send-raw': SENDS,
  'verify-key': 'describes the key of the request',
}

const PERMISSION_BY_ROUTE: ReadonlyMap<string, Permission> = new Map(
  Object.entries(ROUTES_BY_PERMISSION).flatMap(([permission, names]) =>
    names.split(/\s+/).map((name) => [name, permission as Permission] as const),
  ),
)

/** Null: no person may use the endpoint. */
export function permissionOf(routeName: string): Permission | null {
  return PERMISSION_BY_ROUTE.get(routeName) ?? null
}

/** The roles whose members may use the endpoint. */
export function rolesOf(routeName: string): readonly MemberRole[] {
  const permission = permissionOf(routeName)
  return (Object.keys(ROLES) as MemberRole[]).filter((role) =>
    (ROLES[role] as readonly (Permission | null)[]).includes(permission),
  )
}

/** Names that stand in a row, for the test that each is an endpoint. */
export const NAMED_ROUTES: readonly string[] = [...PERMISSION_BY_ROUTE.keys()]
