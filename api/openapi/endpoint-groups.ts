/** The groups of the API reference. The first segment of an endpoint's path, without `public`, decides its group. */
import { pathsOf, type AnyRoute } from '#api/http/route.ts'

export interface EndpointGroup {
  readonly name: string
  readonly description: string
  /** First segments of paths. */
  readonly pathPrefixes: readonly string[]
}

export const ENDPOINT_GROUPS: readonly EndpointGroup[] = [
  {
    name: 'Sending',
    pathPrefixes: ['send-email'],
    description: 'Send messages, immediately or at a scheduled time. The response comes once the message is stored.',
  },
  {
    name: 'Emails',
    pathPrefixes: ['emails', 'queue'],
    description: 'Messages, their recipients and their delivery status.',
  },
  {
    name: 'Events',
    pathPrefixes: ['events', 'changes'],
    description: 'The event feed of the workspace in order, and a stream of all changes for pages.',
  },
  {
    name: 'Statistics',
    pathPrefixes: ['statistics', 'deliverability'],
    description: 'Counts of mail by time and by what it is, the click map, and what to do next at each receiver.',
  },
  { name: 'Templates', pathPrefixes: ['templates'], description: 'Subjects and bodies with variables (Handlebars).' },
  {
    name: 'Audiences',
    pathPrefixes: ['audiences'],
    description: 'Lists of contacts, each with a public subscribe form.',
  },
  {
    name: 'Contacts',
    pathPrefixes: ['contacts'],
    description: 'The people of a workspace, each subscribed to any number of audiences.',
  },
  { name: 'Segments', pathPrefixes: ['segments'], description: 'Contacts of an audience that match conditions.' },
  {
    name: 'Suppressions',
    pathPrefixes: ['suppressions'],
    description: 'Addresses that get no mail, each with its reason.',
  },
  {
    name: 'Privacy',
    pathPrefixes: ['privacy'],
    description: 'What is stored about a person: export it, or erase it.',
  },
  {
    name: 'Domains',
    pathPrefixes: ['domains'],
    description: 'Sending domains: records to publish, verification, keys.',
  },
  {
    name: 'Accounts',
    pathPrefixes: ['accounts', 'oauth'],
    description: 'Your own mailboxes and SMTP servers to send through.',
  },
  {
    name: 'Automations',
    pathPrefixes: ['automations'],
    description: 'Sequences of steps that start with an event, such as a series of mails.',
  },
  { name: 'Campaigns', pathPrefixes: ['campaigns'], description: 'One mail to a whole audience.' },
  {
    name: 'Webhooks',
    pathPrefixes: ['webhooks'],
    description: 'Endpoints of yours that receive events, and their delivery log.',
  },
  {
    name: 'Inbound mail',
    pathPrefixes: ['inbound', 'inbound-files'],
    description: 'Addresses of your domains that receive mail, and what they received.',
  },
  {
    name: 'Keys',
    pathPrefixes: ['integrations', 'api-keys'],
    description: 'The API key of the request, and those of the workspace.',
  },
  {
    name: 'Workspace',
    pathPrefixes: ['workspace', 'attention', 'checklist', 'audit-log'],
    description: 'Settings, plan, usage and audit log of the workspace.',
  },
  {
    name: 'People',
    pathPrefixes: ['auth', 'members', 'invitations', 'join', 'reset', 'confirm-email', 'confirm-forward'],
    description:
      'Sign in and out, the members of a workspace and their roles, invitations. With a session, not an API key.',
  },
  {
    name: 'Public pages',
    pathPrefixes: ['s', 'o', 'c', 'u', 'p', 'v'],
    description: 'For the recipients of mail. No key.',
  },
  {
    name: 'Operation',
    pathPrefixes: ['healthz', 'readyz', 'metrics', 'tls-reports', 'tracking-name'],
    description: 'Health, metrics and TLS reports, for operators and for other mail servers. No key.',
  },
  {
    name: 'Operator',
    pathPrefixes: ['admin'],
    description: 'Queues and state of the whole service. With the operator token, not an API key.',
  },
  {
    name: 'Reference',
    pathPrefixes: ['', 'about', 'assets', 'mail-frame.html', 'openapi.json', 'docs', 'api'],
    description: 'This API reference, for programs and for people, and the files of the dashboard.',
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
