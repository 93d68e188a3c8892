/** `mailstead inbound`: which addresses of a workspace receive mail, and what they received. */
import {
  apiAction,
  fieldsText,
  forOne,
  given,
  idParam,
  pageOf,
  PAGE_OPTIONS,
  PAGE_USAGE,
  pageText,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'

const routes: RouteLoader = () => import('#api/routes/inbound-routes.ts').then((module) => module.INBOUND_ROUTE_ROUTES)
const emails: RouteLoader = () => import('#api/routes/inbound-emails.ts').then((module) => module.INBOUND_EMAIL_ROUTES)
const EXAMPLE_ID = '01a20312-32ea-7000-a5c8-f32bae550b29'

const ABOUT = {
  action:
    'webhook (the default): store the mail and raise email.received; store: only store it; forward: store it and ' +
    'forward it; drop: discard it',
  forward: 'forward each mail to this address; several with commas. One outside of the workspace gets a link first',
  'forward-spam': 'yes: forward spam, too',
  priority: 'of the routes that match an address, that of the highest priority counts; 0 by default',
}

const FIELDS = ['action', 'forward', 'forward-spam', 'priority', 'description']

const ACTIONS: CliActions = {
  routes: apiAction({
    summary: 'list the inbound routes, newest first',
    usage: `routes ${PAGE_USAGE}`,
    examples: ['routes'],
    options: PAGE_OPTIONS,
    routes,
    route: 'list-inbound-routes',
    input: (call) => ({ query: pageOf(call) }),
    text: pageText(
      'routes',
      [
        ['ID', 'id'],
        ['ADDRESS', 'address'],
        ['ACTION', 'action'],
        ['FORWARD TO', 'forward_to'],
        ['PRIORITY', 'priority'],
        ['STATE', routeState],
      ],
      'No inbound routes.',
    ),
  }),
  route: apiAction({
    summary: 'show an inbound route',
    ...forOne('route', EXAMPLE_ID),
    routes,
    route: 'get-inbound-route',
    input: idParam,
    text: (data) => fieldsText(data, []),
  }),
  create: apiAction({
    summary: 'receive mail for an address of a verified domain; * stands for any characters',
    usage:
      'create ADDRESS [--action webhook|store|forward|drop] [--forward ADDRESS,…] [--forward-spam yes|no] ' +
      '[--priority N] [--description TEXT]',
    examples: ['create support@example.com', "create '*@example.com' --action store --priority -1"],
    options: FIELDS,
    about: ABOUT,
    arguments: [1, 1],
    routes,
    route: 'create-inbound-route',
    input: (call) => ({ body: { address: call.argument(0), ...readFields(call) } }),
    text: (data) => fieldsText(data, []),
  }),
  update: apiAction({
    summary: 'change an inbound route, disable or enable it',
    usage:
      'update ID [--action webhook|store|forward|drop] [--forward ADDRESS,…] [--forward-spam yes|no] ' +
      '[--priority N] [--description TEXT] [--enable | --disable]',
    examples: [`update ${EXAMPLE_ID} --action store`, `update ${EXAMPLE_ID} --disable`],
    options: FIELDS,
    about: { ...ABOUT, enable: 'accept mail again', disable: 'accept no mail until it is enabled' },
    flags: ['enable', 'disable'],
    arguments: [1, 1],
    routes,
    route: 'update-inbound-route',
    input: (call) => ({ ...idParam(call), body: readChange(call) }),
    text: (data) => fieldsText(data, []),
  }),
  remove: apiAction({
    summary: 'remove an inbound route; the mail that it received stays',
    ...forOne('remove', EXAMPLE_ID),
    routes,
    route: 'delete-inbound-route',
    input: idParam,
    text: (_, call) => `Inbound route ${call.argument(0)} is removed.`,
  }),
  resend: apiAction({
    summary: 'send the link again by which an address of an inbound route agrees to forwarded mail',
    usage: 'resend ROUTE [ADDRESS]',
    examples: [`resend ${EXAMPLE_ID}`, `resend ${EXAMPLE_ID} anna@example.org`],
    arguments: [1, 2],
    routes,
    route: 'resend-forward-confirmation',
    input: (call) => ({ ...idParam(call), body: given({ address: call.arguments[1] }) }),
    text: (_data, _call, message) => message,
  }),
  list: apiAction({
    summary: 'list the received emails, newest first',
    usage: `list [--route ID] [--spam clean|suspicious|spam] ${PAGE_USAGE}`,
    examples: ['list', 'list --spam spam'],
    options: ['route', 'spam', ...PAGE_OPTIONS],
    about: { route: 'only the mail of this inbound route', spam: 'only mail with this verdict' },
    routes: emails,
    route: 'list-received-emails',
    input: (call) => ({
      query: { ...pageOf(call), ...given({ route_id: call.option('route'), spam_verdict: call.option('spam') }) },
    }),
    text: pageText(
      'emails',
      [
        ['ID', 'id'],
        ['RECEIVED', 'received_at'],
        ['RECIPIENT', 'recipient'],
        ['FROM', 'from_address'],
        ['SPAM', 'spam_verdict'],
        ['SUBJECT', 'subject'],
      ],
      'No received emails.',
    ),
  }),
  show: apiAction({
    summary: 'show a received email: parts, authentication and spam verdict',
    ...forOne('show', EXAMPLE_ID),
    routes: emails,
    route: 'get-received-email',
    input: idParam,
    text: (data) => fieldsText(data, []),
  }),
  replay: apiAction({
    summary: 'send the webhook of a received email again',
    ...forOne('replay', EXAMPLE_ID),
    routes: emails,
    route: 'replay-received-email',
    input: idParam,
    text: (_, call) => `The event of ${call.argument(0)} is queued again.`,
  }),
  delete: apiAction({
    summary: 'delete a received email with its attachments',
    ...forOne('delete', EXAMPLE_ID),
    routes: emails,
    route: 'delete-received-email',
    input: idParam,
    text: (_, call) => `Received email ${call.argument(0)} is deleted.`,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('inbound', ACTIONS, args, io)
}

function routeState(row: Readonly<Record<string, unknown>>): string {
  if (row['is_active'] !== true) return 'disabled'
  return row['is_domain_verified'] === true ? 'active' : 'domain not verified'
}

function readFields(call: CommandCall): Record<string, unknown> {
  const [priority, forward, spam] = ['priority', 'forward', 'forward-spam'].map((name) => call.option(name))
  return given({
    forward_to: forward === undefined || forward === null ? null : forward.split(',').filter((one) => one !== ''),
    forwards_spam: spam === undefined || spam === null ? null : spam === 'yes',
    action: call.option('action'),
    description: call.option('description'),
    priority: priority === undefined || priority === null ? null : Number(priority),
  })
}

function readChange(call: CommandCall): Record<string, unknown> {
  if (call.has('enable') && call.has('disable')) throw new UsageError('give either --enable or --disable')
  const isActive = call.has('enable') ? true : call.has('disable') ? false : null
  const change = { ...readFields(call), ...given({ is_active: isActive }) }
  if (Object.keys(change).length === 0)
    throw new UsageError(
      'nothing to change: give --action, --forward, --priority, --description, --enable or --disable',
    )
  return change
}
