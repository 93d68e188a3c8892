/** `mailstead campaign`: the campaigns of a workspace, from the draft to the end. */
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
  readFileOption,
  valueText,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import type { CliAction, CliActions, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { countText } from '#src/platform/plural.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'

const routes: RouteLoader = () => import('#api/routes/campaigns.ts').then((module) => module.CAMPAIGN_ROUTES)
const sending: RouteLoader = () =>
  import('#api/routes/campaign-sending.ts').then((module) => module.CAMPAIGN_SENDING_ROUTES)
const preview: RouteLoader = () => import('#api/routes/campaign-preview.ts').then((module) => [module.campaignPreview])
const HIDDEN = ['createdAt', 'updatedAt', 'body', 'text', 'metrics', 'variants', 'recipient_time', 'test']
const EXAMPLE_ID = '01a20312-4d2e-7000-8f7b-6d0c6d6ef6a1'
const EXAMPLE_AUDIENCE = '01a20311-697a-7000-82ad-e7d09fbe940c'
const EXAMPLE_TEMPLATE = '01a20311-a1f8-7000-94e9-d47a1d91b843'
const FIELDS = ['name', 'from', 'audience', 'segment', 'template', 'subject', 'body-file', 'text-file', 'reply-to']
const FIELD_USAGE =
  '[--from A] [--audience a,b] [--segment ID] [--template ID] [--subject S] [--body-file F] [--text-file F] ' +
  '[--reply-to A]'
const ABOUT = { audience: 'audiences, by their ids, separated by commas', from: 'the sender: Name <address>' }

/** A state change without further input. */
function moveAction(move: string, summary: string, done: string): CliAction {
  return apiAction({
    summary,
    ...forOne(move, EXAMPLE_ID),
    routes: sending,
    route: `${move}-campaign`,
    input: idParam,
    text: (data) => `${valueText(data['name'])} ${done} (${valueText(data['status'])}).`,
  })
}

const ACTIONS: CliActions = {
  list: apiAction({
    summary: 'list the campaigns, newest first',
    usage: `list [--status S] ${PAGE_USAGE}`,
    examples: ['list', 'list --status DRAFT'],
    options: ['status', ...PAGE_OPTIONS],
    routes,
    route: 'get-campaigns',
    input: (call) => ({ query: { ...pageOf(call), ...given({ status: call.option('status') }) } }),
    text: pageText(
      'campaigns',
      [
        ['ID', 'id'],
        ['STATE', 'status'],
        ['SCHEDULED', 'scheduled_at'],
        ['STARTED', 'started_at'],
        ['NAME', 'name'],
      ],
      'No campaigns.',
    ),
  }),
  show: apiAction({
    summary: 'show a campaign and its results',
    ...forOne('show', EXAMPLE_ID),
    routes,
    route: 'get-campaign',
    input: idParam,
    text: campaignText,
  }),
  create: apiAction({
    summary: 'create a campaign as a draft',
    usage: `create --name N ${FIELD_USAGE}`,
    examples: [
      `create --name November --from "News <news@example.com>" --audience ${EXAMPLE_AUDIENCE} ` +
        `--template ${EXAMPLE_TEMPLATE}`,
    ],
    options: FIELDS,
    about: ABOUT,
    routes,
    route: 'create-campaign',
    input: (call) => ({ body: { name: call.required('name'), ...fieldsOf(call) } }),
    text: (data) =>
      `Campaign ${valueText(data['id'])} (${valueText(data['name'])}) is a draft.\n` +
      `Next: mailstead campaign preview ${valueText(data['id'])}`,
  }),
  update: apiAction({
    summary: 'change a draft',
    usage: `update ID [--name N] ${FIELD_USAGE}`,
    examples: [`update ${EXAMPLE_ID} --subject "What is new"`],
    options: FIELDS,
    about: ABOUT,
    arguments: [1, 1],
    routes,
    route: 'update-campaign',
    input: (call) => ({ ...idParam(call), body: { ...given({ name: call.option('name') }), ...fieldsOf(call) } }),
    text: campaignText,
  }),
  preview: apiAction({
    summary: 'show the recipients by receiver, and what would prevent a start',
    ...forOne('preview', EXAMPLE_ID),
    routes: preview,
    route: 'preview-campaign',
    input: idParam,
    text: previewText,
  }),
  start: apiAction({
    summary: 'send a campaign now',
    usage: 'start ID [--force]',
    examples: [`start ${EXAMPLE_ID}`],
    flags: ['force'],
    arguments: [1, 1],
    routes: sending,
    route: 'start-campaign',
    input: (call) => ({ ...idParam(call), body: { force: call.has('force') } }),
    text: (data) =>
      `${valueText(data['name'])} is being sent. Its results: mailstead campaign show ${valueText(data['id'])}`,
  }),
  schedule: apiAction({
    summary: 'send a campaign at a time',
    usage: 'schedule ID --at TIME [--timezone Z] [--recipient-time] [--force]',
    examples: [`schedule ${EXAMPLE_ID} --at 2031-05-04T10:00:00 --timezone Europe/Berlin`],
    options: ['at', 'timezone'],
    flags: ['recipient-time', 'force'],
    about: { at: 'when, such as 2031-05-04T10:00:00; without an offset, in --timezone' },
    arguments: [1, 1],
    routes: sending,
    route: 'schedule-campaign',
    input: (call) => ({
      ...idParam(call),
      body: {
        scheduled_at: call.required('at'),
        ...given({ timezone: call.option('timezone') }),
        recipient_time: call.has('recipient-time'),
        force: call.has('force'),
      },
    }),
    text: (data) => `${valueText(data['name'])} is scheduled for ${valueText(data['scheduled_at'])}.`,
  }),
  recall: moveAction('recall', 'turn a scheduled campaign back into a draft', 'is a draft again'),
  pause: moveAction('pause', 'send none of its mail until it is resumed', 'is paused'),
  resume: moveAction('resume', 'send a paused campaign again', 'is resumed'),
  cancel: moveAction('cancel', 'cancel a campaign: mail that was not sent yet is cancelled', 'is cancelled'),
  retry: moveAction('retry', 'send again to recipients whose mail failed or soft-bounced', 'is sent again'),
  remove: apiAction({
    summary: 'remove a draft',
    ...forOne('remove', EXAMPLE_ID),
    routes,
    route: 'delete-campaign',
    input: idParam,
    text: (_, call) => `Campaign ${call.argument(0)} is removed.`,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('campaign', ACTIONS, args, io)
}

function fieldsOf(call: CommandCall): Record<string, unknown> {
  return given({
    from: call.option('from'),
    audience_ids: call.option('audience')?.split(',') ?? null,
    segment_id: call.option('segment'),
    template_id: call.option('template'),
    subject: call.option('subject'),
    body: readFileOption(call, 'body-file'),
    text: readFileOption(call, 'text-file'),
    reply_to: call.option('reply-to'),
  })
}

function campaignText(data: AnswerData): string {
  const metrics = Object.entries(data['metrics'] as AnswerData).filter(([, count]) => count !== 0)
  const rows = metrics.map(([name, count]) => [name, valueText(count)])
  const results = rows.length === 0 ? 'No mail yet.' : tableText(['RESULT', 'RECIPIENTS'], rows)
  return `${fieldsText(data, HIDDEN)}\n\n${results}`
}

function previewText(data: AnswerData): string {
  const receivers = data['receivers'] as readonly AnswerData[]
  const findings = data['findings'] as readonly AnswerData[]
  const recipients = countText(Number(data['recipients']), 'recipient')
  const head = `${recipients} at ${countText(Number(data['receiver_count']), 'receiver')}`
  const table =
    receivers.length === 0
      ? ''
      : `\n\n${tableText(
          ['RECEIVER', 'RECIPIENTS'],
          receivers.map((one) => [valueText(one['receiver']), valueText(one['recipients'])]),
        )}`
  const lines = findings.map(({ level, message }) => `${valueText(level)}  ${valueText(message)}`)
  const verdict = data['is_red'] === true ? 'The campaign cannot be sent as it is.' : 'The campaign can be sent.'
  return `${head}${data['is_estimate'] === true ? ' (estimate)' : ''}${table}\n\n${[...lines, verdict].join('\n')}`
}
