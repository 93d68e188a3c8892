/**
 * The fields of a JSON Schema as HTML: a list of name, type and meaning, with the fields of nested objects below them.
 * A named schema that several endpoints share is a link to its own section.
 */
import { html, type Markup } from '#api/http/html.ts'
import type { Json } from './schemas.ts'

const COMPONENTS = '#/components/schemas/'
const MAX_DEPTH = 6

export interface FieldContext {
  readonly schemas: Readonly<Record<string, Json>>
  /** The schemas with a section of their own. */
  readonly shared: ReadonlySet<string>
}

function schemaNameOf(schema: Json | undefined): string | null {
  const reference = schema?.['$ref']
  return typeof reference === 'string' ? reference.slice(COMPONENTS.length) : null
}

/** The fields of a schema, or a link to the section of a shared one. */
export function renderSchema(schema: Json, context: FieldContext, depth = 0): Markup {
  const name = schemaNameOf(schema)
  if (name !== null && context.shared.has(name)) return html`<p>${schemaLink(name)}</p>`
  return renderFields(name === null ? schema : (context.schemas[name] ?? {}), context, depth)
}

function schemaLink(name: string): Markup {
  return html`<a href="#schema-${name}">${name}</a>`
}

/** The lists of fields of an object, of the items of an array, and of each variant. */
export function renderFields(schema: Json, context: FieldContext, depth = 0): Markup {
  if (depth > MAX_DEPTH) return html``
  const variants = [...listOf(schema['anyOf']), ...listOf(schema['oneOf']), ...listOf(schema['allOf'])]
  const items = schema['items'] as Json | undefined
  const own = Object.entries((schema['properties'] ?? {}) as Record<string, Json>).filter(
    ([, field]) => field['deprecated'] !== true,
  )
  const required = new Set(listOf<string>(schema['required']))
  const rows = own.map(([name, field]) => renderField(name, field, required.has(name), { context, depth }))
  return html`${rows.length === 0 ? null : html`<dl class="fields">${rows}</dl>`}${variants
    .filter((one) => hasFields(one, context))
    .map((one) => renderFields(resolve(one, context), context, depth + 1))}${
    items === undefined ? null : renderNested(items, context, depth)
  }`
}

function renderField(
  name: string,
  field: Json,
  isRequired: boolean,
  { context, depth }: { readonly context: FieldContext; readonly depth: number },
): Markup {
  const target = resolve(field, context)
  const description = textOf(field['description'] ?? target['description'])
  const choices = listOf(target['enum'])
  const badge = isRequired ? html` <strong>required</strong>` : null
  return html`
<dt><code>${name}</code> <span class="type">${typeOf(field, context)}</span>${badge}</dt>
<dd>${inline(description)}${
    choices.length === 0 ? null : html` <span class="values">${choices.map(String).join(', ')}</span>`
  }${renderNested(field, context, depth)}</dd>`
}

/** The fields below a field, unless they are in a section of their own. */
function renderNested(field: Json, context: FieldContext, depth: number): Markup | null {
  const name = schemaNameOf(field)
  if (name !== null && context.shared.has(name)) return null
  return hasFields(field, context) ? renderFields(resolve(field, context), context, depth + 1) : null
}

function hasFields(schema: Json, context: FieldContext, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  const target = resolve(schema, context)
  if (target['properties'] !== undefined) return true
  const inner = [...listOf(target['anyOf']), ...listOf(target['oneOf']), ...listOf(target['allOf']), target['items']]
  return inner.some((one) => isJson(one) && hasFields(one, context, depth + 1))
}

function resolve(schema: Json, { schemas }: FieldContext): Json {
  const name = schemaNameOf(schema)
  return name === null ? schema : (schemas[name] ?? {})
}

function typeOf(field: Json, context: FieldContext): Markup {
  const name = schemaNameOf(field)
  if (name !== null && context.shared.has(name)) return schemaLink(name)
  const target = resolve(field, context)
  const variants = [...listOf(target['anyOf']), ...listOf(target['oneOf'])]
  if (variants.length > 0) return joinTypes(variants.map((one) => typeOf(one, context)))
  const items = target['items'] as Json | undefined
  if (items !== undefined) return html`list of ${typeOf(items, context)}`
  const types = [target['type']].flat().filter((one) => typeof one === 'string')
  if (target['format'] !== undefined && types.includes('string')) return html`${textOf(target['format'])}`
  return html`${types.length === 0 ? (target['properties'] === undefined ? 'any' : 'object') : types.join(' or ')}`
}

function joinTypes(types: readonly Markup[]): Markup {
  const texts = [...new Map(types.map((one) => [one.text, one])).values()]
  return html`${texts.map((one, i) => (i === 0 ? one : html` or ${one}`))}`
}

/** Text with `code` in backticks, and links in Markdown. */
export function inline(text: string): Markup {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function listOf<T = Json>(value: unknown): readonly T[] {
  return Array.isArray(value) ? (value as T[]) : []
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
