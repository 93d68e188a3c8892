/** The groups of the reference page. An endpoint belongs to one by the first word of its path; `public` does not count. */
import { pathsOf, type AnyRoute } from '#api/http/route.ts'

export interface EndpointGroup {
  readonly name: string
  readonly description: string
  /** First words of paths. */
  readonly pathPrefixes: readonly string[]
}

export const ENDPOINT_GROUPS: readonly EndpointGroup[] = [
  {
    name: 'Sending',
    pathPrefixes: ['send-email'],
    description: 'Messages, now or later. The answer comes once the message is stored.',
  },
  { name: 'Emails', pathPrefixes: ['emails'], description: 'What became of messages.' },
  { name: 'Events', pathPrefixes: ['events'], description: 'What happened in the workspace, in order.' },
  { name: 'Templates', pathPrefixes: ['templates'], description: 'Subjects and bodies with variables (Handlebars).' },
  {
    name: 'Audiences',
    pathPrefixes: ['audiences'],
    description: 'Named lists of contacts, each with a public subscribe form.',
  },
  {
    name: 'Contacts',
    pathPrefixes: ['contacts'],
    description: 'People, once each in a workspace; subscribed or not in each audience.',
  },
  { name: 'Segments', pathPrefixes: ['segments'], description: 'Contacts of an audience that meet conditions.' },
  {
    name: 'Suppressions',
    pathPrefixes: ['suppressions'],
    description: 'Addresses that get nothing, each with its cause.',
  },
  {
    name: 'Domains',
    pathPrefixes: ['domains'],
    description: 'Sending domains: records to publish, verification, keys.',
  },
  {
    name: 'Accounts',
    pathPrefixes: ['accounts', 'oauth'],
    description: 'Mailboxes and SMTP servers of your own that mail leaves through.',
  },
  {
    name: 'Automations',
    pathPrefixes: ['automations'],
    description: 'Steps that a contact goes through after an event.',
  },
  { name: 'Campaigns', pathPrefixes: ['campaigns'], description: 'One mail to an audience.' },
  {
    name: 'Webhooks',
    pathPrefixes: ['webhooks'],
    description: 'Addresses of yours that hear of events, and the log of what they were told.',
  },
  { name: 'Keys', pathPrefixes: ['integrations'], description: 'The key that asks.' },
  { name: 'Workspace', pathPrefixes: ['workspace'], description: 'Settings, plan and use of the workspace.' },
  {
    name: 'Public pages',
    pathPrefixes: ['s', 'o', 'c', 'u', 'p', 'v'],
    description: 'For the people who get the mail; no key.',
  },
  {
    name: 'Operation',
    pathPrefixes: ['healthz', 'readyz', 'metrics', 'tls-reports', 'tracking-name'],
    description: 'For whoever runs the service, and for other mail servers; no key.',
  },
  {
    name: 'Operator',
    pathPrefixes: ['admin'],
    description: 'All queues of the service, for whoever runs it; with the token of the operator, not a key.',
  },
  {
    name: 'Reference',
    pathPrefixes: ['openapi.json', 'docs', 'api'],
    description: 'This description, for programs and for people.',
  },
]

export function groupOf(spec: AnyRoute): string {
  const words =
    pathsOf(spec)[0]
      ?.replace(/^\/api\/v1/, '')
      .split('/')
      .filter((word) => word !== '' && word !== 'public') ?? []
  return ENDPOINT_GROUPS.find((group) => group.pathPrefixes.includes(words[0] ?? ''))?.name ?? 'Other'
}
