/**
 * Makes `mailstead.ts` from the OpenAPI document: `node clients/typescript/generate.ts`. The hand-written transport first, then a type for
 * each schema, then one method for each endpoint that needs a key. A test compares what stands there with what this makes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOpenApi } from '#api/openapi/openapi.ts'
import { ROUTES } from '#api/table.ts'
import { commentOf, fieldOf, typeOf, type Schema } from './types.ts'

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly deprecated?: boolean
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly security: readonly object[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<
    Record<string, { readonly post: { readonly requestBody: { readonly content: Content } } }>
  >
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const HEADER =
  "// The client of Mailstead's API, in one file without dependencies. Made by generate.ts: change the routes, not this.\n"

/** The text of `mailstead.ts`. */
export function generate(): string {
  const document = buildOpenApi(ROUTES, '') as unknown as Document
  const methods = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation.security.some((one) => 'key' in one) && operation.deprecated !== true)
      .map(([method, operation]) => methodOf(method, path, operation)),
  )
  const events = Object.values(document.webhooks).map(({ post }) => typeOf(jsonOf(post.requestBody.content) ?? {}))
  const client = `export class Mailstead {
  readonly #transport: Transport

  constructor(options: MailsteadOptions) {
    this.#transport = new Transport(options)
  }
${methods.join('')}}
`
  const types = typesFor([...methods, ...events, 'ErrorBody'].join('\n'), document.components.schemas)
  const event = `/** What a webhook endpoint gets. */\nexport type WebhookEvent =\n  | ${events.join('\n  | ')}\n`
  return [HEADER + transport(), types, event, client].join('\n')
}

function transport(): string {
  const text = readFileSync(join(import.meta.dirname, 'transport.ts'), 'utf8')
  return text.replace(/^import .*\n\n/gm, '').replace('export class Transport', 'class Transport')
}

/** The components that a text names, and those that they name. */
function typesFor(text: string, schemas: Readonly<Record<string, Schema>>): string {
  const made = new Map<string, string>()
  const add = (from: string): void => {
    for (const name of Object.keys(schemas)) {
      if (made.has(name) || !new RegExp(`\\b${name}\\b`).test(from)) continue
      const type = typeOf(schemas[name] ?? {})
      made.set(name, `${commentOf(schemas[name]?.['description'], '')}export type ${name} = ${type}\n`)
      add(type)
    }
  }
  add(text)
  return [...made]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([, type]) => type)
    .join('\n')
}

function methodOf(method: string, path: string, operation: Operation): string {
  const isIdempotent = operation.parameters.some(({ $ref }) => $ref !== undefined)
  const input = inputOf(operation)
  const what = `{ method: '${method.toUpperCase()}', path: '${path}'${isIdempotent ? ', isIdempotent: true' : ''} }`
  const comment = [operation.summary.replace(/[^.]$/, '$&.'), operation.description ?? ''].join(' ').trim()
  const parameters = [
    ...(input === null ? [] : [`input: ${input.type}${input.isRequired ? '' : ' = {}'}`]),
    'options?: CallOptions',
  ]
  return `
${commentOf(comment, '  ')}  ${operation.operationId}(${parameters.join(', ')}): Promise<${answerOf(operation)}> {
    return this.#transport.call(${what}, ${input === null ? '{}' : 'input'}, options)
  }
`
}

interface Input {
  readonly type: string
  readonly isRequired: boolean
}

/** `{ params, query, body }`, as far as the endpoint has them; null where it has none. */
function inputOf({ parameters, requestBody }: Operation): Input | null {
  const all = [partOf('params', parameters, 'path'), partOf('query', parameters, 'query'), bodyOf(requestBody)]
  const parts = all.filter((part) => part !== null)
  if (parts.length === 0) return null
  const fields = parts.map(({ name, type, isRequired }) => `    readonly ${name}${isRequired ? '' : '?'}: ${type}\n`)
  return { type: `{\n${fields.join('')}  }`, isRequired: parts.some(({ isRequired }) => isRequired) }
}

interface Part extends Input {
  readonly name: string
}

function partOf(name: string, parameters: readonly Parameter[], place: string): Part | null {
  const found = parameters.filter((one) => one.in === place && one.deprecated !== true)
  if (found.length === 0) return null
  const fields = found.map((one) =>
    fieldOf(one.name, { ...one.schema, description: one.description }, one.required, '      '),
  )
  return { name, type: `{\n${fields.join('')}    }`, isRequired: found.some(({ required }) => required) }
}

function bodyOf(body: Operation['requestBody']): Part | null {
  if (body === undefined) return null
  const json = jsonOf(body.content)
  const types = [
    ...(json === null ? [] : [typeOf(json, '    ')]),
    ...('text/csv' in body.content ? ['string', 'Blob'] : []),
  ]
  return { name: 'body', type: types.join(' | '), isRequired: body.required }
}

function answerOf({ responses }: Operation): string {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content
  if (success === undefined) return 'void'
  const json = jsonOf(success)
  const isTextToo = Object.keys(success).some((type) => type !== 'application/json')
  return [...(json === null ? [] : [typeOf(json)]), ...(isTextToo ? ['string'] : [])].join(' | ')
}

function jsonOf(content: Content): Schema | null {
  return content['application/json']?.schema ?? null
}

export const CLIENT_FILE = join(import.meta.dirname, 'mailstead.ts')

if (import.meta.main) writeFileSync(CLIENT_FILE, generate())
