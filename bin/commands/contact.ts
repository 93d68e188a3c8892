/**
 * `mailstead contact`: the contacts of a workspace. An import is processed by the worker; `--wait` shows its progress
 * until it ends, and Ctrl-C does not stop it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AnswerData,
  apiAction,
  fieldsText,
  given,
  idParam,
  openFile,
  pageOf,
  PAGE_OPTIONS,
  PAGE_USAGE,
  pageText,
  valueText,
  readAnswer,
  readJsonOption,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { routeNamed, type WorkspaceApi } from '#bin/cli/workspace-api.ts'
import { countText } from '#src/platform/plural.ts'

const routes: RouteLoader = () => import('#api/routes/contacts.ts').then((module) => module.CONTACT_ROUTES)
const imports: RouteLoader = () => import('#api/routes/contact-imports.ts').then((module) => module.IMPORT_ROUTES)
const exports: RouteLoader = () => import('#api/routes/contact-export.ts').then((module) => module.EXPORT_ROUTES)
const POLL_MS = 500
const IMPORT_ALIASES = ['object', 'audienceId', 'dryRun', 'queuePosition', 'createdAt', 'finishedAt']
const EXAMPLE_AUDIENCE = '01a20311-697a-7000-82ad-e7d09fbe940c'
const EXAMPLE_IMPORT = '01a20311-7c44-7000-9d0e-41a0a7b0fe33'
const FIELDS = ['first-name', 'last-name', 'company', 'timezone', 'tags', 'attributes'] as const
const FIELD_USAGE = '[--first-name N] [--last-name N] [--company C] [--timezone Z] [--tags a|b] [--attributes JSON]'

const ACTIONS: CliActions = {
  list: apiAction({
    summary: 'list the contacts of an audience',
    usage: `list --audience ID ${PAGE_USAGE}`,
    examples: [`list --audience ${EXAMPLE_AUDIENCE}`],
    options: ['audience', ...PAGE_OPTIONS],
    routes,
    route: 'get-contacts',
    input: (call) => ({ query: { ...pageOf(call), audienceId: call.required('audience') } }),
    text: pageText(
      'contacts',
      [
        ['ID', 'id'],
        ['STATE', 'status'],
        ['EMAIL', 'email'],
        ['NAME', (row) => [row['first_name'], row['last_name']].filter(Boolean).join(' ')],
      ],
      'No contacts.',
    ),
  }),
  show: apiAction({
    summary: 'show a contact',
    usage: 'show EMAIL|ID',
    examples: ['show anna@example.org'],
    arguments: [1, 1],
    routes,
    route: 'get-contact',
    input: (call) => ({ query: contactOf(call) }),
    text: (data) => fieldsText(withoutAliases(data)),
  }),
  history: apiAction({
    summary: 'show what happened with a contact, newest first',
    usage: 'history EMAIL|ID [--cursor C] [--limit N]',
    examples: ['history anna@example.org'],
    options: ['cursor', 'limit'],
    arguments: [1, 1],
    routes: () => import('#api/routes/contact-history.ts').then((module) => module.CONTACT_HISTORY_ROUTES),
    route: 'get-contact-history',
    input: (call) => ({ query: { ...contactOf(call), ...pageOf(call) } }),
    text: pageText(
      'history',
      [
        ['AT', 'at'],
        ['WHAT', 'type'],
        ['STATE', 'status'],
        ['DETAIL', (row) => valueText(row['subject'] ?? row['url'] ?? row['audience_id'] ?? row['changes'])],
      ],
      'Nothing happened.',
    ),
  }),
  add: apiAction({
    summary: 'add a contact to an audience, or update it',
    usage: `add EMAIL --audience ID ${FIELD_USAGE}`,
    examples: [`add anna@example.org --audience ${EXAMPLE_AUDIENCE} --first-name Anna --attributes '{"plan": "pro"}'`],
    options: ['audience', ...FIELDS],
    arguments: [1, 1],
    routes,
    route: 'add-contact',
    input: (call) => ({
      body: { email: call.argument(0), audience_id: call.required('audience'), ...profileOf(call) },
    }),
    text: (data, call) => `Contact ${valueText(data['id'])} (${call.argument(0)}) is in the audience.`,
  }),
  update: apiAction({
    summary: 'change a contact; an empty value clears a field',
    usage: `update EMAIL|ID ${FIELD_USAGE}`,
    examples: ['update anna@example.org --last-name Berg --tags "customer|vip"'],
    options: FIELDS,
    arguments: [1, 1],
    routes,
    route: 'update-contact',
    input: (call) => ({ query: contactOf(call), body: profileOf(call) }),
    text: (_, call) => `Contact ${call.argument(0)} is updated.`,
  }),
  remove: apiAction({
    summary: 'remove a contact permanently, from all audiences',
    usage: 'remove EMAIL|ID',
    examples: ['remove anna@example.org'],
    arguments: [1, 1],
    routes,
    route: 'delete-contact',
    input: (call) => ({ query: contactOf(call) }),
    text: (_, call) => `Contact ${call.argument(0)} is removed.`,
  }),
  import: apiAction({
    summary: 'import contacts from a CSV file',
    usage: 'import FILE|- --audience ID [--dry-run] [--wait]',
    examples: [
      `import contacts.csv --audience ${EXAMPLE_AUDIENCE} --wait`,
      `import contacts.csv --audience ${EXAMPLE_AUDIENCE} --dry-run --wait`,
    ],
    options: ['audience'],
    flags: ['dry-run', 'wait'],
    arguments: [1, 1],
    routes: imports,
    route: 'import-contacts',
    input: (call) => ({
      query: { audienceId: call.required('audience'), ...(call.has('dry-run') ? { dryRun: 'true' } : {}) },
      file: openFile(call.argument(0)),
    }),
    followUp: (data, call, api) => (call.has('wait') ? waitForImport(data, call, api) : Promise.resolve(data)),
    text: importText,
  }),
  imports: apiAction({
    summary: 'list the imports of the last 30 days',
    usage: `imports ${PAGE_USAGE}`,
    examples: ['imports'],
    options: PAGE_OPTIONS,
    routes: imports,
    route: 'list-imports',
    input: (call) => ({ query: pageOf(call) }),
    text: pageText(
      'imports',
      [
        ['ID', 'id'],
        ['STATE', 'status'],
        ['PROGRESS', (row) => `${Math.floor(Number(row['progress']) * 100)}%`],
        ['CREATED', 'created_at'],
        ['ROWS', (row) => valueText((row['rows'] as AnswerData)['read'])],
        ['FAILED', (row) => valueText((row['rows'] as AnswerData)['failed'])],
      ],
      'No imports.',
    ),
  }),
  cancel: apiAction({
    summary: 'cancel an import; the rows imported until then stay',
    usage: 'cancel IMPORT',
    examples: [`cancel ${EXAMPLE_IMPORT}`],
    arguments: [1, 1],
    routes: imports,
    route: 'cancel-import',
    input: idParam,
    text: (_, call) => `Import ${call.argument(0)} is cancelled.`,
  }),
  export: apiAction({
    summary: 'print contacts as CSV: of an audience, of a segment, or all',
    usage: 'export [--audience ID] [--segment ID]',
    examples: [`export --audience ${EXAMPLE_AUDIENCE} > contacts.csv`],
    options: ['audience', 'segment'],
    routes: exports,
    route: 'export-contacts',
    input: (call) => ({ query: given({ audienceId: call.option('audience'), segmentId: call.option('segment') }) }),
    text: (_data, _call, message) => message,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('contact', ACTIONS, args, io)
}

function contactOf(call: CommandCall): Record<string, string> {
  const name = call.argument(0)
  return name.includes('@') ? { email: name } : { id: name }
}

function profileOf(call: CommandCall): Record<string, unknown> {
  return given({
    first_name: call.option('first-name'),
    last_name: call.option('last-name'),
    company_name: call.option('company'),
    timezone: call.option('timezone'),
    tags: call.option('tags'),
    custom_attributes: readJsonOption(call, 'attributes'),
  })
}

/** The API returns both spellings of a field. */
function withoutAliases(data: AnswerData): AnswerData {
  const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(data).filter(([name]) => snake(name) === name || !(snake(name) in data)))
}

async function waitForImport(started: AnswerData, call: CommandCall, api: WorkspaceApi): Promise<AnswerData> {
  const route = routeNamed(await imports(), 'get-import')
  const progress = call.progress()
  try {
    for (let data = started; ; await sleep(POLL_MS)) {
      if (data['finished_at'] !== null) return data
      progress.report(Number(data['progress']), progressText(data))
      data = readAnswer(await api.call(route, { params: { id: valueText(started['id']) } })).data ?? data
    }
  } finally {
    progress.end()
  }
}

function progressText(data: AnswerData): string {
  const before = Number(data['queue_position'] ?? 0)
  if (before > 0) return `waits for ${countText(before, 'other import')}`
  return `${countText(Number((data['rows'] as AnswerData)['read']), 'row')} read`
}

function importText(data: AnswerData, call: CommandCall): string {
  const id = valueText(data['id'])
  if (data['finished_at'] === null)
    return `Import ${id} is stored. The worker imports it; see mailstead contact imports.`
  const { rows, ...rest } = data
  const counts = Object.entries(rows as AnswerData).map(([name, count]) => `${name} ${valueText(count)}`)
  const reason = call.has('dry-run') ? ' Nothing was changed: this was a dry run.' : ''
  return `${fieldsText({ ...rest, rows: counts.join(', ') }, [...IMPORT_ALIASES, 'columns', 'progress'])}${reason}`
}
