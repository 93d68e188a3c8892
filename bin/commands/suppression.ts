/** `mailstead suppression`: the addresses that receive no mail of a workspace. */
import {
  apiAction,
  fieldsText,
  given,
  openFile,
  pageOf,
  PAGE_OPTIONS,
  PAGE_USAGE,
  pageText,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandCall, CommandIo } from '#bin/cli/call.ts'

const routes: RouteLoader = () => import('#api/routes/suppressions.ts').then((module) => module.SUPPRESSION_ROUTES)
const files: RouteLoader = () =>
  import('#api/routes/suppression-files.ts').then((module) => module.SUPPRESSION_FILE_ROUTES)
const HIDDEN = ['address', 'cause']

const ACTIONS: CliActions = {
  list: apiAction({
    summary: 'list the suppressed addresses, newest first',
    usage: `list [--search PREFIX] [--kind K] ${PAGE_USAGE}`,
    examples: ['list', 'list --kind bounce --search anna@'],
    options: ['search', 'kind', ...PAGE_OPTIONS],
    routes,
    route: 'list-suppressions',
    input: (call) => ({ query: { ...pageOf(call), ...filterOf(call) } }),
    text: pageText(
      'suppressions',
      [
        ['ADDRESS', 'email'],
        ['KIND', 'kind'],
        ['SINCE', 'created_at'],
        ['REASON', 'reason'],
      ],
      'No suppressed addresses.',
    ),
  }),
  show: apiAction({
    summary: 'show why an address is suppressed',
    usage: 'show ADDRESS',
    examples: ['show anna@example.org'],
    arguments: [1, 1],
    routes,
    route: 'get-suppression',
    input: (call) => ({ params: { email: call.argument(0) } }),
    text: (data) => fieldsText(data, HIDDEN),
  }),
  add: apiAction({
    summary: 'suppress an address',
    usage: 'add ADDRESS [--reason WHY]',
    examples: ['add anna@example.org --reason "asked by telephone"'],
    options: ['reason'],
    arguments: [1, 1],
    routes,
    route: 'add-suppressions',
    input: (call) => ({ body: { email: call.argument(0), ...given({ reason: call.option('reason') }) } }),
    text: (_, call, message) => `${call.argument(0)}: ${message}`,
  }),
  remove: apiAction({
    summary: 'let mail through to an address again',
    usage: 'remove ADDRESS [--reason WHY]',
    examples: ['remove anna@example.org', 'remove anna@example.org --reason "asked by telephone"'],
    options: ['reason'],
    arguments: [1, 1],
    routes,
    route: 'delete-suppression',
    input: (call) => ({ params: { email: call.argument(0) }, query: given({ reason: call.option('reason') }) }),
    text: (_, call) => `${call.argument(0)} is removed from the suppression list.`,
  }),
  import: apiAction({
    summary: 'import addresses from a CSV file',
    usage: 'import FILE|-',
    examples: ['import suppressed.csv'],
    arguments: [1, 1],
    routes: files,
    route: 'import-suppressions',
    input: (call) => ({ file: openFile(call.argument(0)) }),
    text: (_data, _call, message) => message,
  }),
  export: apiAction({
    summary: 'print the suppression list as CSV',
    usage: 'export [--search PREFIX] [--kind K]',
    examples: ['export > suppressed.csv'],
    options: ['search', 'kind'],
    routes: files,
    route: 'export-suppressions',
    input: (call) => ({ query: filterOf(call) }),
    text: (_data, _call, message) => message,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('suppression', ACTIONS, args, io)
}

function filterOf(call: CommandCall): Record<string, unknown> {
  return given({ search: call.option('search'), kind: call.option('kind') })
}
