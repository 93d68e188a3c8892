/** `mailstead webhook`: the webhook endpoints of a workspace. A signing secret is shown only when it is created. */
import {
  type AnswerData,
  apiAction,
  fieldsText,
  forOne,
  given,
  idParam,
  pageOf,
  PAGE_OPTIONS,
  PAGE_USAGE,
  pageText,
  valueText,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'

const routes: RouteLoader = () => import('#api/routes/webhooks.ts').then((module) => module.WEBHOOK_ROUTES)
const log: RouteLoader = () => import('#api/routes/webhook-log.ts').then((module) => module.WEBHOOK_LOG_ROUTES)
const HIDDEN = ['object', 'event_types']
const EXAMPLE_ID = '01a20312-32ea-7000-a5c8-f32bae550b29'

const ACTIONS: CliActions = {
  list: apiAction({
    summary: 'list the webhook endpoints, newest first',
    usage: `list ${PAGE_USAGE}`,
    examples: ['list'],
    options: PAGE_OPTIONS,
    routes,
    route: 'list-webhooks',
    input: (call) => ({ query: pageOf(call) }),
    text: pageText(
      'webhooks',
      [
        ['ID', 'id'],
        ['STATE', (row) => (row['is_active'] === true ? 'active' : 'disabled')],
        ['CREATED', 'created_at'],
        ['EVENTS', 'events'],
        ['URL', 'url'],
      ],
      'No webhook endpoints.',
    ),
  }),
  show: apiAction({
    summary: 'show a webhook endpoint',
    ...forOne('show', EXAMPLE_ID),
    routes,
    route: 'get-webhook',
    input: idParam,
    text: (data) => fieldsText(data, HIDDEN),
  }),
  create: apiAction({
    summary: 'register a URL; its signing secret is shown once',
    usage: 'create URL [--events a,b] [--description TEXT]',
    examples: ['create https://example.com/hooks/mail --events email.delivered,email.bounced'],
    options: ['events', 'description'],
    arguments: [1, 1],
    routes,
    route: 'create-webhook',
    input: (call) => ({
      body: {
        url: call.argument(0),
        ...given({ events: call.option('events'), description: call.option('description') }),
      },
    }),
    text: secretText,
  }),
  update: apiAction({
    summary: 'change a webhook endpoint, disable or enable it',
    usage: 'update ID [--url URL] [--events a,b] [--description TEXT] [--enable | --disable]',
    examples: [`update ${EXAMPLE_ID} --events email.bounced`, `update ${EXAMPLE_ID} --disable`],
    options: ['url', 'events', 'description'],
    flags: ['enable', 'disable'],
    arguments: [1, 1],
    routes,
    route: 'update-webhook',
    input: (call) => ({ ...idParam(call), body: readChange(call) }),
    text: (data) => fieldsText(data, HIDDEN),
  }),
  rotate: apiAction({
    summary: 'create a new signing secret; the previous one also signs for 24 hours',
    ...forOne('rotate', EXAMPLE_ID),
    routes,
    route: 'rotate-webhook-secret',
    input: idParam,
    text: secretText,
  }),
  test: apiAction({
    summary: 'send a test event',
    usage: 'test ID [--type T]',
    examples: [`test ${EXAMPLE_ID}`, `test ${EXAMPLE_ID} --type email.bounced`],
    options: ['type'],
    about: { type: 'an event type; by default the first of the endpoint' },
    arguments: [1, 1],
    routes: log,
    route: 'test-webhook',
    input: (call) => ({ ...idParam(call), body: given({ type: call.option('type') }) }),
    text: (data, call) =>
      `${valueText(data['event_id'])} is queued. Its result: mailstead webhook deliveries ${call.argument(0)}`,
  }),
  deliveries: apiAction({
    summary: 'list what was sent to an endpoint, and what it answered',
    usage: `deliveries ID [--state S] ${PAGE_USAGE}`,
    examples: [`deliveries ${EXAMPLE_ID} --state failed`],
    options: ['state', ...PAGE_OPTIONS],
    arguments: [1, 1],
    routes: log,
    route: 'list-webhook-deliveries',
    input: (call) => ({ ...idParam(call), query: { ...pageOf(call), ...given({ state: call.option('state') }) } }),
    text: pageText(
      'deliveries',
      [
        ['EVENT', 'event_id'],
        ['TYPE', 'type'],
        ['STATE', 'state'],
        ['TRIES', 'tries'],
        ['CREATED', 'created_at'],
        ['LAST RESULT', lastResult],
      ],
      'No deliveries.',
    ),
  }),
  replay: apiAction({
    summary: 'send an event to an endpoint again',
    usage: 'replay ID EVENT',
    examples: [`replay ${EXAMPLE_ID} evt_01a2030fd8d97000b0498c868fabd4db`],
    arguments: [2, 2],
    routes: log,
    route: 'replay-webhook-delivery',
    input: (call) => ({ params: { id: call.argument(0), eventId: call.argument(1) } }),
    text: (_, call) => `The event ${call.argument(1)} is queued again.`,
  }),
  remove: apiAction({
    summary: 'remove a webhook endpoint; its waiting deliveries are not sent',
    ...forOne('remove', EXAMPLE_ID),
    routes,
    route: 'delete-webhook',
    input: idParam,
    text: (_, call) => `Webhook endpoint ${call.argument(0)} is removed.`,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('webhook', ACTIONS, args, io)
}

function readChange(call: CommandCall): Record<string, unknown> {
  if (call.has('enable') && call.has('disable')) throw new UsageError('give either --enable or --disable')
  const change = given({
    url: call.option('url'),
    events: call.option('events'),
    description: call.option('description'),
    is_active: call.has('enable') ? true : call.has('disable') ? false : null,
  })
  if (Object.keys(change).length === 0)
    throw new UsageError('nothing to change: give --url, --events, --description, --enable or --disable')
  return change
}

function secretText(data: AnswerData): string {
  const fields = fieldsText(data, [...HIDDEN, 'secret'])
  return `${fields}\n\nIts signing secret, shown this once:\n${valueText(data['secret'])}`
}

function lastResult(row: AnswerData): string {
  const last = (row['attempts'] as readonly AnswerData[]).at(-1)
  return last === undefined ? '' : valueText(last['status'] ?? last['error'] ?? '')
}
