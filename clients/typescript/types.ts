/** From the JSON Schema of the OpenAPI document to TypeScript types, as text. Names that are only another name of a field are left out. */
export type Schema = Readonly<Record<string, unknown>>

const COMPONENTS = '#/components/schemas/'

/** The type of a schema; `indent` is where its lines begin. What each keyword says holds together with the others. */
export function typeOf(schema: Schema, indent = ''): string {
  const said = FORMS.filter(([keyword]) => keyword in schema).map(([, form]) => form(schema, indent))
  return intersect(said)
}

type Form = (schema: Schema, indent: string) => string

const FORMS: readonly (readonly [keyword: string, form: Form])[] = [
  ['$ref', ({ $ref }) => String($ref).slice(COMPONENTS.length)],
  ['allOf', (schema, indent) => intersect(partsOf(schema['allOf'], indent))],
  ['anyOf', (schema, indent) => unite(partsOf(schema['anyOf'], indent))],
  ['oneOf', (schema, indent) => unite(partsOf(schema['oneOf'], indent))],
  ['const', literalsOf],
  ['enum', literalsOf],
  ['type', typesOf],
]

function typesOf(schema: Schema, indent: string): string {
  if ('const' in schema || 'enum' in schema) return 'unknown' // the values say it
  return unite(listOf(schema['type']).map((type) => plain(String(type), schema, indent)))
}

/** Only these values. */
function literalsOf(schema: Schema): string {
  const values = 'const' in schema ? [schema['const']] : (schema['enum'] as unknown[])
  return unite(values.map((one) => JSON.stringify(one)))
}

function partsOf(schemas: unknown, indent: string): string[] {
  return (schemas as Schema[]).map((one) => typeOf(one, indent))
}

function unite(types: readonly string[]): string {
  return types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ')
}

/** What says nothing of the type (a pattern, a length) does not count. */
function intersect(types: readonly string[]): string {
  const known = [...new Set(types)].filter((type) => type !== 'unknown')
  return known.length === 0 ? 'unknown' : known.length === 1 ? (known[0] ?? '') : known.map(bracket).join(' & ')
}

function bracket(type: string): string {
  return / [|&] |^readonly /.test(type) ? `(${type})` : type
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value]
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  null: 'null',
  integer: 'number',
  number: 'number',
}

function plain(type: string, schema: Schema, indent: string): string {
  if (type === 'array') return `readonly ${bracket(typeOf((schema['items'] ?? {}) as Schema, indent))}[]`
  return type === 'object' ? objectOf(schema, indent) : (PLAIN[type] ?? 'unknown')
}

function objectOf(schema: Schema, indent: string): string {
  const { properties, additionalProperties } = schema as {
    properties?: Readonly<Record<string, Schema>>
    additionalProperties?: unknown
  }
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties as Schema, indent) : null
  const rest = others === null ? null : `Readonly<Record<string, ${others}>>`
  if (properties === undefined) return rest ?? 'Readonly<Record<string, unknown>>'
  const required = (schema['required'] ?? []) as readonly string[]
  const fields = Object.entries(properties)
    .filter(([, field]) => field['deprecated'] !== true)
    .map(([name, field]) => fieldOf(name, field, required.includes(name), `${indent}  `))
  const listed = `{\n${fields.join('')}${indent}}`
  return rest === null ? listed : `${listed} & ${rest}`
}

/** One field of an object, with its description, on lines of its own. */
export function fieldOf(name: string, schema: Schema, isRequired: boolean, indent: string): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
  return `${commentOf(schema['description'], indent)}${indent}readonly ${key}${isRequired ? '' : '?'}: ${typeOf(schema, indent)}\n`
}

/** A description as a comment of one line; nothing where there is none. */
export function commentOf(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text === '') return ''
  return `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s*\n\s*/g, ' ')} */\n`
}
