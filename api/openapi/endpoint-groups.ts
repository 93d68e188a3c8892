/** The groups of the reference page. An endpoint belongs to one by the first word of its path; `public` does not count. */
import { pathsOf, type AnyRoute } from '#api/http/route.ts'

export interface Group {
  readonly name: string
  readonly description: string
  /** First words of paths. */
  readonly words: readonly string[]
}

export const GROUPS: readonly Group[] = [
  {
    name: 'Sending',
    words: ['send-email'],
    description: 'Messages, now or later. The answer comes once the message is stored.',
  },
  { name: 'Emails', words: ['emails'], description: 'What became of messages.' },
  { name: 'Events', words: ['events'], description: 'What happened in the workspace, in order.' },
  { name: 'Templates', words: ['templates'], description: 'Subjects and bodies with variables (Handlebars).' },
  {
    name: 'Audiences',
    words: ['audiences'],
    description: 'Named lists of contacts, each with a public subscribe form.',
  },
  {
    name: 'Contacts',
    words: ['contacts'],
    description: 'People, once each in a workspace; subscribed or not in each audience.',
  },
  { name: 'Segments', words: ['segments'], description: 'Contacts of an audience that meet conditions.' },
  { name: 'Suppressions', words: ['suppressions'], description: 'Addresses that get nothing, each with its cause.' },
  { name: 'Domains', words: ['domains'], description: 'Sending domains: records to publish, verification, keys.' },
  {
    name: 'Accounts',
    words: ['accounts', 'oauth'],
    description: 'Mailboxes and SMTP servers of your own that mail leaves through.',
  },
  { name: 'Automations', words: ['automations'], description: 'Steps that a contact goes through after an event.' },
  { name: 'Campaigns', words: ['campaigns'], description: 'One mail to an audience.' },
  {
    name: 'Webhooks',
    words: ['webhooks'],
    description: 'Addresses of yours that hear of events, and the log of what they were told.',
  },
  { name: 'Keys', words: ['integrations'], description: 'The key that asks.' },
  { name: 'Workspace', words: ['workspace'], description: 'Settings, plan and use of the workspace.' },
  {
    name: 'Public pages',
    words: ['s', 'o', 'c', 'u', 'p', 'v'],
    description: 'For the people who get the mail; no key.',
  },
  {
    name: 'Operation',
    words: ['healthz', 'readyz', 'metrics', 'tls-reports', 'tracking-name'],
    description: 'For whoever runs the service, and for other mail servers; no key.',
  },
  {
    name: 'Operator',
    words: ['admin'],
    description: 'All queues of the service, for whoever runs it; with the token of the operator, not a key.',
  },
  {
    name: 'Reference',
    words: ['openapi.json', 'docs', 'api'],
    description: 'This description, for programs and for people.',
  },
]

export function groupOf(spec: AnyRoute): string {
  const words =
    pathsOf(spec)[0]
      ?.replace(/^\/api\/v1/, '')
      .split('/')
      .filter((word) => word !== '' && word !== 'public') ?? []
  return GROUPS.find((group) => group.words.includes(words[0] ?? ''))?.name ?? 'Other'
}
