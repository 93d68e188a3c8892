/** Converts JSON Schemas of the OpenAPI document to TypeScript types, as text. Aliases of fields are left out. */
export type Schema = Readonly<Record<string, unknown>>

/** The widest line of the generated file. */
export const MAX_WIDTH = 120
const COMPONENTS = '#/components/schemas/'

/** The type of a schema: the intersection of the types of its keywords. `indent` is the indentation of its lines. */
export function formatSchema(schema: Schema, indent = ''): string {
  const types = KEYWORDS.filter(([keyword]) => keyword in schema).map(([, form]) => form(schema, indent))
  return intersect(types)
}

type TypeWriter = (schema: Schema, indent: string) => string

const KEYWORDS: readonly (readonly [keyword: string, form: TypeWriter])[] = [
  ['$ref', ({ $ref }) => String($ref).slice(COMPONENTS.length)],
  ['allOf', (schema, indent) => intersect(formatParts(schema['allOf'], indent))],
  ['anyOf', (schema, indent) => union(formatParts(schema['anyOf'], indent))],
  ['oneOf', (schema, indent) => union(formatParts(schema['oneOf'], indent))],
  ['const', formatLiterals],
  ['enum', formatLiterals],
  ['type', formatTypes],
]

function formatTypes(schema: Schema, indent: string): string {
  if ('const' in schema || 'enum' in schema) return 'unknown' // the literal values define the type
  return union(toList(schema['type']).map((type) => formatType(String(type), schema, indent)))
}

/** The union of the literal values. */
function formatLiterals(schema: Schema): string {
  const values = 'const' in schema ? [schema['const']] : (schema['enum'] as unknown[])
  return union(values.map((one) => JSON.stringify(one)))
}

function formatParts(schemas: unknown, indent: string): string[] {
  return (schemas as Schema[]).map((one) => formatSchema(one, indent))
}

function union(types: readonly string[]): string {
  return types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ')
}

/** Ignores keywords that do not affect the type, such as a pattern or a length. */
function intersect(types: readonly string[]): string {
  const known = [...new Set(types)].filter((type) => type !== 'unknown')
  return known.length === 0 ? 'unknown' : known.length === 1 ? (known[0] ?? '') : known.map(parenthesize).join(' & ')
}

function parenthesize(type: string): string {
  return / [|&] |^readonly /.test(type) ? `(${type})` : type
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value]
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  null: 'null',
  integer: 'number',
  number: 'number',
}

function formatType(type: string, schema: Schema, indent: string): string {
  if (type === 'array') return `readonly ${parenthesize(formatSchema((schema['items'] ?? {}) as Schema, indent))}[]`
  return type === 'object' ? formatObject(schema, indent) : (PRIMITIVES[type] ?? 'unknown')
}

function formatObject(schema: Schema, indent: string): string {
  const { properties, additionalProperties } = schema as {
    properties?: Readonly<Record<string, Schema>>
    additionalProperties?: unknown
  }
  const others = typeof additionalProperties === 'object' ? formatSchema(additionalProperties as Schema, indent) : null
  const rest = others === null ? null : `Readonly<Record<string, ${others}>>`
  if (properties === undefined) return rest ?? 'Readonly<Record<string, unknown>>'
  const required = (schema['required'] ?? []) as readonly string[]
  const fields = Object.entries(properties)
    .filter(([, field]) => field['deprecated'] !== true)
    .map(([name, field]) => formatField(name, field, required.includes(name), `${indent}  `))
  const listed = `{\n${fields.join('')}${indent}}`
  return rest === null ? listed : `${listed} & ${rest}`
}

/** One field of an object with its description as a comment. */
export function formatField(name: string, schema: Schema, isRequired: boolean, indent: string): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
  const field = `${indent}readonly ${key}${isRequired ? '' : '?'}:`
  const type = formatSchema(schema, indent)
  const isWide = field.length + 1 + type.length > MAX_WIDTH && !/[\n(&]/.test(type)
  const written = isWide ? `\n${indent}  | ${type.replaceAll(' | ', `\n${indent}  | `)}` : ` ${type}`
  return `${formatComment(schema['description'], indent)}${field}${written}\n`
}

/** A description as a comment, wrapped if it is long; empty if there is none. */
export function formatComment(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text === '') return ''
  const line = text.replaceAll('*/', '*\\/').replace(/\s*\n\s*/g, ' ')
  if (indent.length + line.length + '/**  */'.length <= MAX_WIDTH) return `${indent}/** ${line} */\n`
  const width = MAX_WIDTH - indent.length - ' * '.length
  const lines = line.match(new RegExp(`(?:\\S{${width},}|.{1,${width}})(?: |$)`, 'g')) ?? [line]
  return `${indent}/**\n${lines.map((one) => `${indent} * ${one.trimEnd()}\n`).join('')}${indent} */\n`
}
