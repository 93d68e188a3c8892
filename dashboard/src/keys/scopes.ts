/** The scopes of Admin keys, in groups for people who choose. */
import type { CreateAdminKeyBody } from '#dashboard/src/api/endpoints.ts'

export type Scope = CreateAdminKeyBody['scopes'][number]

export const SCOPE_GROUPS = {
  mail: ['emails:read', 'emails:manage', 'statistics:read'],
  audience: ['contacts:read', 'contacts:write', 'audiences:manage', 'suppressions:manage', 'privacy:manage'],
  campaigns: ['campaigns:manage', 'automations:read', 'automations:write', 'automations:trigger'],
  setup: [
    'domains:manage',
    'accounts:manage',
    'webhooks:manage',
    'inbound:manage',
    'tracking:manage',
    'api-keys:create',
    'api-keys:manage',
    'audit:read',
  ],
} as const satisfies Readonly<Record<string, readonly Scope[]>>

export type ScopeGroup = keyof typeof SCOPE_GROUPS

type Missing = Exclude<Scope, (typeof SCOPE_GROUPS)[ScopeGroup][number]>
/** Fails to compile if the API has a scope that no group has. */
export const ALL_SCOPES: readonly Scope[] = Object.values(SCOPE_GROUPS).flat() satisfies [Missing] extends [never]
  ? readonly Scope[]
  : never
