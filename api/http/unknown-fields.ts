/**
 * Finds fields of a request that its schema does not have, which are mostly misspelt, with the name that was probably
 * meant. They are ignored, as they always were, and the response warns of them; a client that sends `Prefer:
 * handling=strict` (RFC 7240 §4.4) gets an error instead. Objects whose keys are free (`metadata`, `params`) and values
 * of another type than expected have no unknown fields. Bounded: a hostile request gets few, short warnings.
 */
import type { ZodType } from 'zod'
import type { Detail } from '#src/platform/errors.ts'
import { nearestName } from '#src/platform/nearest-name.ts'
import { findReferred, toJsonSchema, type Json } from './json-schema.ts'

const MAX_WARNINGS = 20
const MAX_NAME = 60

/** What a schema says of a value: the names of its fields, and what they contain. */
interface FieldTree {
  /** Null if the object may have any field. */
  readonly fields: ReadonlyMap<string, FieldTree> | null
  /** Null if it is not a list. */
  readonly items: FieldTree | null
}

const OPEN: FieldTree = { fields: null, items: null }
const trees = new WeakMap<ZodType, FieldTree>()

/** One warning for each unknown field, in the order of the request. */
export function findUnknownFields(schema: ZodType, value: unknown): Detail[] {
  const found: Detail[] = []
  collect(treeOf(schema), value, '', found)
  return found
}

function collect(tree: FieldTree, value: unknown, path: string, found: Detail[]): void {
  if (typeof value !== 'object' || value === null || found.length >= MAX_WARNINGS) return
  if (Array.isArray(value)) {
    const { items } = tree
    if (items !== null) value.forEach((item, i) => collect(items, item, `${path}${i}.`, found))
    return
  }
  const { fields } = tree
  if (fields === null) return
  for (const name of Object.keys(value)) {
    const inner = fields.get(name)
    if (inner !== undefined) collect(inner, (value as Json)[name], `${path}${name}.`, found)
    else if (found.length < MAX_WARNINGS) found.push(warningOf(path, name, fields))
  }
}

function warningOf(path: string, name: string, fields: ReadonlyMap<string, FieldTree>): Detail {
  const near = nearestName(name, fields.keys())
  const hint = near === null ? '' : `; did you mean ${near}?`
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME).toWellFormed()}…` : name
  return { path: `${path}${shown}`.slice(0, 200), message: `is not a field of this request${hint}` }
}

function treeOf(schema: ZodType): FieldTree {
  const known = trees.get(schema)
  if (known !== undefined) return known
  const root = toJsonSchema(schema, 'input')
  const tree = new SchemaTree([{ node: root, root }])
  trees.set(schema, tree)
  return tree
}

/** A JSON Schema, and the document in which its references are resolved. */
interface SchemaPart {
  readonly node: Json
  readonly root: Json
}

/** Several JSON Schemas of one value, of which it may follow any. Resolved on first use, because schemas recur. */
class SchemaTree implements FieldTree {
  readonly #parts: readonly SchemaPart[]
  #fields: ReadonlyMap<string, FieldTree> | null | undefined
  #items: FieldTree | null | undefined

  constructor(parts: readonly SchemaPart[]) {
    this.#parts = parts
  }

  get fields(): ReadonlyMap<string, FieldTree> | null {
    if (this.#fields === undefined) this.#fields = readFields(this.#parts)
    return this.#fields
  }

  get items(): FieldTree | null {
    if (this.#items === undefined) this.#items = readItems(this.#parts)
    return this.#items
  }
}

function readFields(parts: readonly SchemaPart[]): ReadonlyMap<string, FieldTree> | null {
  const objects = parts.flatMap((part) => leavesOf(part, 0)).filter(({ node }) => mayBe('object', node))
  if (objects.length === 0 || objects.some(({ node }) => isOpen(node))) return null
  const byName = new Map<string, SchemaPart[]>()
  for (const { node: object, root } of objects)
    for (const [name, node] of Object.entries(object['properties'] as Record<string, Json>))
      byName.set(name, [...(byName.get(name) ?? []), { node, root }])
  return new Map([...byName].map(([name, found]) => [name, new SchemaTree(found)]))
}

function readItems(parts: readonly SchemaPart[]): FieldTree | null {
  const items = parts
    .flatMap((part) => leavesOf(part, 0))
    .filter(({ node }) => mayBe('array', node))
    .map(({ node, root }) => ({ node: node['items'], root }))
  if (items.length === 0) return null
  return items.every((part): part is SchemaPart => isJson(part.node)) ? new SchemaTree(items) : OPEN
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mayBe(wanted: string, { type }: Json): boolean {
  return type === undefined || type === wanted || (Array.isArray(type) && type.includes(wanted))
}

/** An object that may have fields which the schema does not name. */
function isOpen(node: Json): boolean {
  const { additionalProperties: others } = node
  return !isJson(node['properties']) || (others !== undefined && others !== false)
}

const MAX_DEPTH = 20
const ANYTHING: Json = {}

/** The schemas that a schema refers to or combines. */
function leavesOf({ node, root }: SchemaPart, depth: number): SchemaPart[] {
  if (depth > MAX_DEPTH) return [{ node: ANYTHING, root }]
  const { $ref: ref } = node
  if (typeof ref === 'string') return leavesOf(resolveRef(ref, root), depth + 1)
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (Array.isArray(node[key]) ? (node[key] as Json[]) : []))
  return parts.length === 0 ? [{ node, root }] : parts.flatMap((part) => leavesOf({ node: part, root }, depth + 1))
}

function resolveRef(ref: string, root: Json): SchemaPart {
  const other = findReferred(ref)
  if (other !== undefined) {
    const json = toJsonSchema(other, 'input')
    return { node: json, root: json }
  }
  if (ref === '#') return { node: root, root }
  const node = (root['$defs'] as Record<string, Json> | undefined)?.[ref.replace(/^#\/\$defs\//, '')]
  return { node: node ?? ANYTHING, root }
}
