/**
 * The scopes of admin keys, each with a description. A key stores its scopes by name, so a scope that is added here
 * later is never granted to an existing key.
 */
import { meantText } from '#src/platform/choice-text.ts'

export const SCOPES = {
  'contacts:read': 'list and get contacts',
  'contacts:write': 'add, update and delete contacts',
  'audiences:manage': 'create, list, get and delete audiences',
  'emails:read': 'read the content and the SMTP dialogs of messages',
  'emails:manage': 'retry, cancel and send messages again',
  'automations:read': 'list and get automations',
  'automations:write': 'create and update automations',
  'automations:trigger': 'trigger automation runs',
  'domains:manage': 'add, verify, list and delete sending domains',
  'api-keys:create': 'create sending keys tied to a verified domain',
  'api-keys:manage': 'list, rotate and revoke the API keys of the workspace',
  'webhooks:manage': 'create, list, change and delete webhook endpoints',
  'inbound:manage': 'manage inbound routes, and read, replay and delete received mail',
  'suppressions:manage': 'list, add, remove, import and export suppressed addresses',
  'accounts:manage': 'connect, list, change, test and remove accounts that mail leaves through',
  'campaigns:manage': 'create, list, change and delete campaigns',
  'audit:read': 'read who changed what in the workspace',
  'privacy:manage': 'export and erase everything that is stored about a person',
  'statistics:read': 'read statistics and click maps',
  'tracking:manage': 'read and change what is tracked of the mail, and under whose name',
} as const

export type KeyScope = keyof typeof SCOPES

export const ALL_SCOPES = Object.keys(SCOPES) as readonly KeyScope[]

/**
 * Parses `all` or a comma-separated list; returns scopes in table order. Null for an unknown name and an empty list.
 */
export function parseScopes(text: string): KeyScope[] | null {
  if (text.trim() === 'all') return [...ALL_SCOPES]
  const names = new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  )
  const scopes = ALL_SCOPES.filter((scope) => names.has(scope))
  return scopes.length === names.size && names.size > 0 ? scopes : null
}

/** Why `parseScopes` refuses a text. */
export function wrongScopesText(text: string): string {
  const names = text.split(',').map((name) => name.trim())
  const wrong = names.find((name) => !ALL_SCOPES.some((scope) => scope === name))
  return `must be all, or a list of ${ALL_SCOPES.join(',')}${meantText(ALL_SCOPES, wrong)}`
}
