/** `mailstead template`: the stored templates of a workspace, with their versions, checks and previews. */
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
  readFileOption,
  readJsonOption,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { countText } from '#src/platform/plural.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'

const routes: RouteLoader = () => import('#api/routes/templates.ts').then((module) => module.TEMPLATE_ROUTES)
const previews: RouteLoader = () =>
  import('#api/routes/template-previews.ts').then((module) => module.TEMPLATE_PREVIEW_ROUTES)
const HIDDEN = ['template_id', 'body', 'text', 'compiled', 'createdAt', 'updatedAt', 'sample_data']
const EXAMPLE_ID = '01a20311-a1f8-7000-94e9-d47a1d91b843'

const ACTIONS: CliActions = {
  list: apiAction({
    summary: 'list the templates, newest first',
    usage: `list ${PAGE_USAGE}`,
    examples: ['list'],
    options: PAGE_OPTIONS,
    routes,
    route: 'list-templates',
    input: (call) => ({ query: pageOf(call) }),
    text: pageText(
      'templates',
      [
        ['ID', 'id'],
        ['VERSION', 'version'],
        ['FORMAT', 'format'],
        ['UPDATED', 'updated_at'],
        ['NAME', 'name'],
      ],
      'No templates.',
    ),
  }),
  show: apiAction({
    summary: 'show a template and its source',
    ...forOne('show', EXAMPLE_ID),
    routes,
    route: 'get-template',
    input: idParam,
    text: sourceText,
  }),
  save: apiAction({
    summary: 'save a template, or the next version of one',
    usage:
      'save --name N --subject S --body-file F [--text-file F] [--format html|mjml] [--description TEXT] [--id ID]',
    examples: [
      'save --name Welcome --subject "Hello {{firstName}}" --body-file welcome.html',
      `save --id ${EXAMPLE_ID} --name Welcome --subject "Hello {{firstName}}" --body-file welcome.html`,
    ],
    options: ['name', 'subject', 'body-file', 'text-file', 'format', 'description', 'id'],
    routes,
    route: 'save-template',
    input: (call) => ({
      body: {
        name: call.required('name'),
        subject: call.required('subject'),
        body: requiredFile(call),
        ...given({
          text: readFileOption(call, 'text-file'),
          format: call.option('format'),
          description: call.option('description'),
          id: call.option('id'),
        }),
      },
    }),
    text: (data) =>
      `Version ${valueText(data['version'])} of ${valueText(data['name'])} is saved: ${valueText(data['id'])}`,
  }),
  check: apiAction({
    summary: 'check a template for problems before it is sent',
    usage: 'check ID [--data JSON]',
    examples: [`check ${EXAMPLE_ID}`],
    options: ['data'],
    arguments: [1, 1],
    routes: previews,
    route: 'check-template',
    input: previewInput,
    text: findingsText,
  }),
  preview: apiAction({
    summary: 'render a template with sample data',
    usage: 'preview ID [--data JSON]',
    examples: [`preview ${EXAMPLE_ID} --data '{"firstName": "Anna"}'`],
    options: ['data'],
    arguments: [1, 1],
    routes: previews,
    route: 'preview-template',
    input: previewInput,
    text: (data) => `Subject: ${valueText(data['subject'])}\n\n${valueText(data['html'] ?? data['text'])}`,
  }),
  versions: apiAction({
    summary: 'list the versions of a template, latest first',
    usage: `versions ID ${PAGE_USAGE}`,
    examples: [`versions ${EXAMPLE_ID}`],
    options: PAGE_OPTIONS,
    arguments: [1, 1],
    routes,
    route: 'list-template-versions',
    input: (call) => ({ ...idParam(call), query: pageOf(call) }),
    text: pageText(
      'versions',
      [
        ['VERSION', 'version'],
        ['CREATED', 'created_at'],
        ['SUBJECT', 'subject'],
      ],
      'No versions.',
    ),
  }),
  diff: apiAction({
    summary: 'compare a version of a template with the one before, or another',
    usage: 'diff ID VERSION [--from VERSION]',
    examples: [`diff ${EXAMPLE_ID} 3`, `diff ${EXAMPLE_ID} 3 --from 1`],
    options: ['from'],
    arguments: [2, 2],
    about: { from: 'the version to compare with' },
    routes: () => import('#api/routes/template-differences.ts').then((module) => module.TEMPLATE_DIFFERENCE_ROUTES),
    route: 'compare-template-versions',
    input: (call) => ({
      params: { id: call.argument(0), version: call.argument(1) },
      query: given({ from: call.option('from') }),
    }),
    text: differencesText,
  }),
  remove: apiAction({
    summary: 'remove a template that no automation or campaign uses',
    ...forOne('remove', EXAMPLE_ID),
    routes,
    route: 'delete-template',
    input: idParam,
    text: (_, call) => `Template ${call.argument(0)} is removed.`,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('template', ACTIONS, args, io)
}

function requiredFile(call: CommandCall): string {
  const text = readFileOption(call, 'body-file')
  if (text === null) throw new UsageError('--body-file is missing')
  return text
}

function previewInput(call: CommandCall): { readonly body: object } {
  return { body: { id: call.argument(0), ...given({ params: readJsonOption(call, 'data') }) } }
}

function sourceText(data: AnswerData): string {
  const text = data['text'] === null ? '' : `\n\nText part:\n${valueText(data['text'])}`
  return `${fieldsText(data, HIDDEN)}\n\n${valueText(data['body'])}${text}`
}

interface PartChange {
  readonly part: string
  readonly hunks: readonly {
    readonly old_start: number
    readonly new_start: number
    readonly lines: readonly string[]
  }[]
}

function differencesText(data: AnswerData): string {
  const changes = data['changes'] as readonly PartChange[]
  const [from, to] = [valueText(data['from']), valueText(data['to'])]
  if (changes.length === 0) return `Versions ${from} and ${to} are equal.`
  return changes
    .flatMap(({ part, hunks }) => [
      `--- ${part}, version ${from}`,
      `+++ ${part}, version ${to}`,
      ...hunks.flatMap((hunk) => [`@@ line ${hunk.old_start}, now line ${hunk.new_start} @@`, ...hunk.lines]),
    ])
    .join('\n')
}

function findingsText(data: AnswerData): string {
  const findings = data['findings'] as readonly AnswerData[]
  if (findings.length === 0) return 'No problems found.'
  const rows = findings.map(({ level, part, line, message }) => [
    valueText(level),
    `${valueText(part ?? '')}${line === null ? '' : `:${valueText(line)}`}`,
    valueText(message),
  ])
  return `${tableText(['LEVEL', 'WHERE', 'FINDING'], rows)}\n\n${countText(findings.length, 'finding')}.`
}
