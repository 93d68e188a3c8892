/**
 * An action of a command that is an endpoint of the API (`workspace-api.ts`). The row of an action says which endpoint,
 * what its arguments mean and how its response is printed; `--workspace` is added. With `--json` it prints the `data`
 * of the API's response.
 */
import { createReadStream, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { AnyRoute, ApiResponse } from '#api/http/route.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { countText } from '#src/platform/plural.ts'
import { type CliAction, type CommandCall, UsageError } from './call.ts'
import { withContext } from './context.ts'
import { requireOneWorkspace } from './find-workspace.ts'
import { type EndpointInput, openWorkspaceApi, routeNamed, type WorkspaceApi } from './workspace-api.ts'
import type { Detail } from '#src/platform/errors.ts'

/** Commands that list the ids which an option takes. */
const LISTS: Readonly<Record<string, string>> = {
  '--audience': 'audience list',
  '--template': 'template list',
  '--campaign': 'campaign list',
}

/** What is wrong with fields of the endpoint, and what to do next. */
function invalidText(
  action: Pick<CliAction, 'options' | 'flags'>,
  { io }: CommandCall,
  details: readonly Detail[],
): string {
  const problems = details.map(({ path, message }) => {
    const option = optionNamed(action, path)
    const list = message === 'must be a UUID' ? LISTS[option] : undefined
    return list === undefined ? `${option} ${message}`.trim() : `${option} must be an id: mailstead ${list} shows them`
  })
  return `${problems.join('\n')}\nSee mailstead ${io.command ?? ''} --help`
}

/** How an action calls a field of its endpoint: `audience_id` is `--audience`, and `body` is `--body-file`. */
export function optionNamed({ options = [], flags = [] }: Pick<CliAction, 'options' | 'flags'>, path: string): string {
  const field = path
    .replace(/\..*/, '')
    .replace(/_/g, '-')
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const names = [field, field.replace(/-id$/, ''), `${field}-file`, field.replace(/-types$/, 's')]
  const option = names.find((name) => options.includes(name) || flags.includes(name))
  return option === undefined ? path : `--${option}`
}

/** The `data` of an answer. */
export type AnswerData = Readonly<Record<string, unknown>>

/** Loads the routes of a file of `api/routes`. */
export type RouteLoader = () => Promise<readonly AnyRoute[]>

export interface ApiAction extends Omit<CliAction, 'run'> {
  /** Loaded when the action runs. */
  readonly routes: RouteLoader
  /** The name of the endpoint. */
  readonly route: string
  /** @throws UsageError */
  readonly input: (call: CommandCall) => EndpointInput
  /** What is printed for an answer. */
  readonly text: (data: AnswerData, call: CommandCall, message: string) => string
  /** Further calls after the first, such as waiting for the end; returns the `data` to print. */
  readonly followUp?: (data: AnswerData, call: CommandCall, api: WorkspaceApi) => Promise<AnswerData>
}

export function apiAction({ routes, route, input, text, followUp, ...action }: ApiAction): CliAction {
  return {
    ...action,
    usage: `${action.usage} [--workspace ID]`,
    options: [...(action.options ?? []), 'workspace'],
    run: async (call) => {
      const request = input(call)
      return withContext(call.io, async (ctx) => {
        const workspace = await requireOneWorkspace(ctx.db, call.option('workspace'))
        const api = openWorkspaceApi(ctx, workspace, (details) => invalidText(action, call, details))
        try {
          const response = await api.call(routeNamed(await routes(), route), request)
          if (response.body instanceof Readable) return await printStream(call, response.body)
          const answer = readAnswer(response)
          const first = answer.data ?? { ...call.named(), removed: true }
          const data = followUp === undefined ? first : await followUp(first, call, api)
          return call.respond(text(data, call, answer.message), data)
        } finally {
          await api.close()
        }
      })
    },
  }
}

interface Answer {
  readonly data?: AnswerData
  readonly message: string
}

export function readAnswer({ body }: ApiResponse): Answer {
  if (body === undefined) return { message: '' }
  const { data, message = '' } = (typeof body === 'string' ? JSON.parse(body) : body) as Partial<Answer>
  return data === undefined ? { message } : { data, message }
}

async function printStream(call: CommandCall, stream: Readable): Promise<number> {
  for await (const chunk of stream) call.io.out(String(chunk))
  return 0
}

/** A column of a table: its head, and a field of the row or a text made from the row. */
export type Column = readonly [head: string, field: string | ((row: AnswerData) => string)]

interface PagingFields {
  readonly page?: number
  readonly totalPages?: number
  readonly total?: number
  readonly next_cursor?: string | null
}

/** A page of a list as a table, with a hint if there is more. */
export function pageText(key: string, columns: readonly Column[], none: string): (data: AnswerData) => string {
  return (data) => {
    const rows = data[key] as readonly AnswerData[]
    if (rows.length === 0) return none
    const table = tableText(
      columns.map(([head]) => head),
      rows.map((row) => columns.map(([, field]) => (typeof field === 'string' ? valueText(row[field]) : field(row)))),
    )
    const { page, totalPages, total, next_cursor: cursor } = data as PagingFields
    if (cursor !== undefined) return cursor === null ? table : `${table}\n\nNext: --cursor ${cursor}`
    if (page === undefined || totalPages === undefined || totalPages <= page) return table
    return `${table}\n\nPage ${page} of ${totalPages} (${countText(total ?? 0, 'row')}). Next: --page ${page + 1}`
  }
}

/** The fields of an object, one on each line. `hidden` are aliases and long values. */
export function fieldsText(data: AnswerData, hidden: readonly string[] = []): string {
  const shown = Object.entries(data).filter(([name, value]) => !hidden.includes(name) && !isEmpty(value))
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${valueText(value)}`).join('\n')
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export function valueText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return ISO_TIME.test(value) ? timeText(new Date(value)) : value
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ')
  return JSON.stringify(value)
}

/** A file that an option names; `-` is stdin. Null if the option is not given. */
export function readFileOption(call: CommandCall, option: string): string | null {
  const file = call.option(option)
  if (file === null) return null
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`--${option} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** A JSON object that an option contains. Null if the option is not given. */
export function readJsonOption(call: CommandCall, option: string): AnswerData | null {
  const text = call.option(option)
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as AnswerData
  } catch {
    // the same error
  }
  throw new UsageError(`--${option} must be a JSON object, such as '{"plan": "pro"}'`)
}

/** The content of a file argument; `-` is stdin. */
export function openFile(file: string): Readable {
  return file === '-' ? process.stdin : createReadStream(file)
}

/** The given values; those that are null are left out, so that they stay as they are. */
export function given(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined))
}

/** The usage of an action on one object, which its only argument names: `show ID`. */
export function forOne(action: string, exampleId: string): Pick<CliAction, 'usage' | 'examples' | 'arguments'> {
  return { usage: `${action} ID`, examples: [`${action} ${exampleId}`], arguments: [1, 1] }
}

/** The first argument as the id in the path of an endpoint. */
export function idParam(call: CommandCall): { readonly params: { readonly id: string } } {
  return { params: { id: call.argument(0) } }
}

/** `--page` or `--cursor`, and `--limit` of a list. */
export const PAGE_OPTIONS = ['page', 'cursor', 'limit'] as const
export const PAGE_USAGE = '[--page N | --cursor C] [--limit N]'
export function pageOf(call: CommandCall): Record<string, unknown> {
  return given({ page: call.option('page'), cursor: call.option('cursor'), limit: call.option('limit') })
}
