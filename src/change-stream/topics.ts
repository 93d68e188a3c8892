/**
 * The topics of the stream of changes, one row each. A caller may read a topic if it may read the objects themselves: a
 * person with the permission; an admin key with the scope, or any key if there is none. Topics of the operator are
 * those of the whole service.
 *
 * `from`: where changes come from. `events`: the events of the workspace, by the beginning of their type. `triggers`:
 * the table `changes`, which triggers write (migrations/072-changes.ts). `sampled`: one query a second for all clients
 * of the process, while there are any.
 */
import type { KeyScope } from '#src/auth/scopes.ts'
import type { Permission } from '#src/people/roles.ts'

export interface TopicRow {
  readonly meaning: string
  readonly readers:
    | 'operator'
    | { readonly permission: Permission; readonly scope?: KeyScope; readonly isForPeople?: true }
  readonly from: readonly ('events' | 'triggers' | 'sampled')[]
}

export const TOPICS = {
  messages: {
    meaning: 'messages and their recipients: each event of the event feed, without addresses',
    readers: { permission: 'mail:read' },
    from: ['events'],
  },
  contacts: {
    meaning: 'contacts that joined or left an audience; an import is reported by `imports` and `audiences`',
    readers: { scope: 'contacts:read', permission: 'contacts:read' },
    from: ['events'],
  },
  audiences: {
    meaning: 'audiences and their numbers of contacts',
    readers: { scope: 'audiences:manage', permission: 'audiences:read' },
    from: ['triggers'],
  },
  imports: {
    meaning: 'imports of contacts and their progress',
    readers: { scope: 'contacts:write', permission: 'contacts:read' },
    from: ['triggers'],
  },
  domains: {
    meaning: 'sending domains and their state',
    readers: { scope: 'domains:manage', permission: 'domains:read' },
    from: ['triggers'],
  },
  'dmarc-reports': {
    meaning: 'sending domains about which a DMARC report was stored',
    readers: { scope: 'domains:manage', permission: 'domains:read' },
    from: ['triggers'],
  },
  campaigns: {
    meaning: 'campaigns, their state and, while they are sent, their counters',
    readers: { scope: 'campaigns:manage', permission: 'campaigns:read' },
    from: ['triggers', 'sampled'],
  },
  automations: {
    meaning: 'automations, their state and counters',
    readers: { scope: 'automations:read', permission: 'automations:read' },
    from: ['triggers'],
  },
  templates: { meaning: 'templates', readers: { permission: 'templates:read' }, from: ['triggers'] },
  webhooks: {
    meaning: 'webhook endpoints, and the number of new attempts',
    readers: { scope: 'webhooks:manage', permission: 'webhooks:read' },
    from: ['triggers'],
  },
  accounts: {
    meaning: 'connected accounts and their state',
    readers: { scope: 'accounts:manage', permission: 'accounts:read' },
    from: ['triggers'],
  },
  'api-keys': {
    meaning: 'API keys',
    readers: { scope: 'api-keys:manage', permission: 'keys:read' },
    from: ['triggers'],
  },
  'captured-emails': {
    meaning: 'mail that the sandbox captured',
    readers: { permission: 'mail:read' },
    from: ['triggers'],
  },
  'received-emails': {
    meaning: 'mail that inbound routes received',
    readers: { scope: 'inbound:manage', permission: 'inbound:read' },
    from: ['triggers'],
  },
  'inbound-routes': {
    meaning: 'inbound routes',
    readers: { scope: 'inbound:manage', permission: 'inbound:read' },
    from: ['triggers'],
  },
  segments: {
    meaning: 'segments; their numbers of contacts are not watched',
    readers: { scope: 'contacts:read', permission: 'contacts:read' },
    from: ['triggers'],
  },
  suppressions: {
    meaning: 'that the suppression list changed, without addresses',
    readers: { scope: 'suppressions:manage', permission: 'suppressions:read' },
    from: ['triggers'],
  },
  erasures: {
    meaning: 'erasures of people and their progress, without addresses',
    readers: { scope: 'privacy:manage', permission: 'privacy:manage' },
    from: ['triggers'],
  },
  members: {
    meaning: 'members of the workspace and their roles, and that the invitations changed; for people only',
    readers: { permission: 'workspace:read', isForPeople: true },
    from: ['triggers'],
  },
  'open-mail': {
    meaning: 'the depth and age of the queue of the workspace by tier, as far as counting is cheap',
    readers: { permission: 'mail:read' },
    from: ['sampled'],
  },
  statistics: {
    meaning: 'the counters of the day in UTC, after more mail was counted',
    readers: { scope: 'statistics:read', permission: 'mail:read' },
    from: ['sampled'],
  },
  queue: {
    meaning: 'the depth of the queues by tier',
    readers: 'operator',
    from: ['sampled'],
  },
  notices: { meaning: 'problems that only the operator can solve', readers: 'operator', from: ['triggers'] },
  nodes: { meaning: 'nodes and their processes', readers: 'operator', from: ['triggers'] },
  checks: { meaning: 'what a live installation needs, and lacks', readers: 'operator', from: ['triggers'] },
  reports: {
    meaning: 'that DMARC or TLS reports were stored, or bounces and complaints stored or processed',
    readers: 'operator',
    from: ['triggers'],
  },
  'held-suppressions': { meaning: 'that the suppressions on hold changed', readers: 'operator', from: ['triggers'] },
  'suppression-reviews': {
    meaning: 'reviews of suppressions and their progress',
    readers: 'operator',
    from: ['triggers'],
  },
  actions: { meaning: 'actions of operators and their progress', readers: 'operator', from: ['triggers'] },
  suspensions: { meaning: 'suspended destinations and workspaces', readers: 'operator', from: ['triggers'] },
} as const satisfies Record<string, TopicRow>

export type ChangeTopic = keyof typeof TOPICS

const TOPIC_NAMES = Object.keys(TOPICS) as readonly ChangeTopic[]

export const WORKSPACE_TOPICS = TOPIC_NAMES.filter((topic) => TOPICS[topic].readers !== 'operator')
export const OPERATOR_TOPICS = TOPIC_NAMES.filter((topic) => TOPICS[topic].readers === 'operator')

/** A reader of a workspace: the kind of its key and its scopes, or what a person may do. */
export interface TopicReader {
  readonly kind: string
  readonly scopes: readonly string[]
  /** Absent for a key. */
  readonly permissions?: readonly string[] | undefined
}

/** Whether a caller of a workspace may read a topic. */
export function mayReadTopic({ kind, scopes, permissions }: TopicReader, topic: ChangeTopic): boolean {
  const { readers }: TopicRow = TOPICS[topic]
  if (readers === 'operator') return false
  if (permissions !== undefined) return permissions.includes(readers.permission)
  if (readers.isForPeople === true) return false
  return readers.scope === undefined || (kind === 'admin' && scopes.includes(readers.scope))
}

/** The topic of an event, by the beginning of its type; null: its object has a topic of its own. */
export function topicOfEvent(type: string): ChangeTopic | null {
  if (type.startsWith('email.')) return 'messages'
  return type.startsWith('contact.') ? 'contacts' : null
}

export function isChangeTopic(name: string): name is ChangeTopic {
  return Object.hasOwn(TOPICS, name)
}
