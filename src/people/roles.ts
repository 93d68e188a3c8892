/**
 * The roles of a workspace's members, and what each may do. `api/http/route-permissions.ts` names the permission of
 * each route. A permission that is added here is granted to owners and admins only, until a row of ROLES names it.
 */
import type { KeyScope } from '#src/auth/scopes.ts'

/** Each permission of a workspace with what it allows. */
export const PERMISSIONS = {
  'workspace:read': 'see the plan, usage and members',
  'workspace:write': 'change the name of the workspace',
  'mail:read': 'search messages, see their attempts and events, and read captured ones',
  'mail:content': 'read the content, the source and the SMTP dialogs of messages',
  'mail:write': 'retry, cancel and send messages again',
  'mail:send': 'send, schedule and change messages from a domain of the workspace',
  'mail:delete': 'delete captured messages',
  'templates:read': 'read and preview templates',
  'templates:write': 'save and delete templates',
  'audiences:read': 'see audiences',
  'audiences:write': 'create, change and delete audiences',
  'contacts:read': 'see contacts and segments',
  'contacts:write': 'add, change, import and delete contacts and segments',
  'contacts:export': 'download contacts and recipients',
  'campaigns:read': 'see campaigns and their results',
  'campaigns:write': 'create, change and delete campaigns',
  'campaigns:send': 'start, schedule, pause and cancel campaigns',
  'automations:read': 'see automations and their runs',
  'automations:write': 'create, change, run and delete automations',
  'automations:secret': 'replace the secret that signs webhook steps',
  'suppressions:read': 'see suppressed addresses',
  'suppressions:write': 'add and remove suppressed addresses',
  'domains:read': 'see domains and their records',
  'domains:write': 'add, verify and delete domains, rotate DKIM keys',
  'accounts:read': 'see connected accounts',
  'accounts:write': 'connect, change, test and remove accounts',
  'tracking:read': 'see the tracking settings',
  'tracking:write': 'change the tracking settings',
  'webhooks:read': 'see webhook endpoints and their delivery log',
  'webhooks:write': 'create, change, test and delete webhook endpoints',
  'inbound:read': 'see inbound routes and read received mail',
  'inbound:write': 'create, change and delete inbound routes, replay and delete received mail',
  'keys:read': 'see API keys, without their secrets',
  'keys:write': 'create sending keys, change, rotate and revoke keys',
  'admin-keys:create': 'create Admin keys',
  'privacy:manage': 'export and erase what is stored about a person',
  'audit:read': 'read the audit log',
  'members:manage': 'invite and remove members, change their roles',
} as const

export type Permission = keyof typeof PERMISSIONS

const ALL = Object.keys(PERMISSIONS) as readonly Permission[]

/** What every role may read. */
const VIEWED: readonly Permission[] = [
  'workspace:read',
  'mail:read',
  'templates:read',
  'audiences:read',
  'contacts:read',
  'campaigns:read',
  'automations:read',
  'suppressions:read',
  'domains:read',
  'accounts:read',
  'tracking:read',
]

/**
 * The highest role first: a member manages members of its own and of lower rank only. Received mail is for owners and
 * admins: at a route of a whole domain it may contain links that open the accounts of colleagues.
 */
export const ROLES = {
  owner: ALL,
  admin: ALL,
  developer: [
    ...VIEWED,
    'mail:content',
    'mail:write',
    'mail:send',
    'mail:delete',
    'templates:write',
    'automations:write',
    'automations:secret',
    'suppressions:write',
    'domains:write',
    'accounts:write',
    'tracking:write',
    'webhooks:read',
    'webhooks:write',
    'keys:read',
    'keys:write',
  ],
  marketer: [
    ...VIEWED,
    'templates:write',
    'audiences:write',
    'contacts:write',
    'contacts:export',
    'campaigns:write',
    'campaigns:send',
    'automations:write',
    'suppressions:write',
  ],
  viewer: VIEWED,
} as const satisfies Readonly<Record<string, readonly Permission[]>>

export type MemberRole = keyof typeof ROLES

export const ROLE_NAMES = Object.keys(ROLES) as readonly MemberRole[]

/** The permissions that a key with the scope would give to a person who sees its secret. */
const SCOPE_PERMISSIONS: Readonly<Record<KeyScope, readonly Permission[]>> = {
  'contacts:read': ['contacts:read', 'contacts:export'],
  'contacts:write': ['contacts:write'],
  'audiences:manage': ['audiences:write'],
  'emails:read': ['mail:content'],
  'emails:manage': ['mail:write'],
  'automations:read': ['automations:read'],
  'automations:write': ['automations:write', 'automations:secret'],
  'automations:trigger': ['automations:write'],
  'domains:manage': ['domains:write'],
  'api-keys:create': ['keys:write'],
  'api-keys:manage': ['keys:read', 'keys:write'],
  'webhooks:manage': ['webhooks:write'],
  'inbound:manage': ['inbound:read', 'inbound:write'],
  'suppressions:manage': ['suppressions:write', 'contacts:export'],
  'accounts:manage': ['accounts:write'],
  'campaigns:manage': ['campaigns:write', 'campaigns:send', 'contacts:export'],
  'audit:read': ['audit:read'],
  'privacy:manage': ['privacy:manage'],
  'statistics:read': ['mail:read'],
  'tracking:manage': ['tracking:write'],
}

export function hasPermission(role: MemberRole, permission: Permission): boolean {
  return (ROLES[role] as readonly Permission[]).includes(permission)
}

/** The scopes of keys whose secret a member with this role may see: none that does more than the role. */
export function scopesOfRole(role: MemberRole): readonly KeyScope[] {
  return (Object.keys(SCOPE_PERMISSIONS) as KeyScope[]).filter((scope) =>
    SCOPE_PERMISSIONS[scope].every((permission) => hasPermission(role, permission)),
  )
}

/** Whether a member may invite, change or remove somebody with the role `other`: nobody above itself. */
export function mayManage(role: MemberRole, other: MemberRole): boolean {
  return hasPermission(role, 'members:manage') && ROLE_NAMES.indexOf(other) >= ROLE_NAMES.indexOf(role)
}
