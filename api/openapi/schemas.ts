/**
 * From zod to the JSON Schema of the OpenAPI document. A schema that has an id (`.meta({ id })`), and every body and answer, becomes a
 * named component that is written once and referred to; the rest stands where it is used.
 * @throws when two different schemas have one name: that is a mistake in the table of routes, and every test of the document shows it.
 */
import { isDeepStrictEqual } from 'node:util'
import { z, type ZodType } from 'zod'

export type Json = Record<string, unknown>

export interface SchemaRegistry {
  /** The schema as it stands: what has an id is a reference, the rest is written out. */
  inline(schema: ZodType, io: 'input' | 'output'): Json
  /** A reference to the schema as a component: by its own id, or by `name` where it has none. */
  refer(schema: ZodType, io: 'input' | 'output', name: string): Json
  /** What was referred to so far, by name. */
  readonly components: Readonly<Record<string, Json>>
}

const COMPONENTS = '#/components/schemas/'

export function createSchemaRegistry(): SchemaRegistry {
  const components: Record<string, Json> = {}
  const names = new Map<ZodType, string>()
  // one schema serves all paths of an endpoint, and often several endpoints
  const cached = { input: new Map<ZodType, Json>(), output: new Map<ZodType, Json>() }

  const add = (name: string, json: Json): void => {
    const before = components[name]
    if (before !== undefined && !isDeepStrictEqual(before, json))
      throw new Error(`two schemas of the API are called ${name}`)
    components[name] = json
  }
  const inline = (schema: ZodType, io: 'input' | 'output'): Json => {
    const known = cached[io].get(schema)
    if (known !== undefined) return known
    const { $schema: _, $defs, ...json } = toJson(schema, io)
    cached[io].set(schema, json)
    for (const [name, part] of Object.entries(($defs ?? {}) as Record<string, Json>)) add(name, part)
    return json
  }
  return {
    components,
    inline,
    refer: (schema, io, name) => {
      const known = names.get(schema)
      if (known !== undefined) return { $ref: COMPONENTS + known }
      const json = inline(schema, io)
      if (typeof json['$ref'] === 'string' && Object.keys(json).length === 1) return json
      names.set(schema, name)
      add(name, json)
      return { $ref: COMPONENTS + name }
    },
  }
}

function toJson(schema: ZodType, io: 'input' | 'output'): Json {
  const json = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: (one) => applyMeta(one.zodSchema, one.jsonSchema),
  })
  return simplify(JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', `"${COMPONENTS}`))) as Json
}

/** A `.meta` with one of these describes the whole: the checks in zod read more than JSON Schema can tell. */
const TYPE_KEYS = ['type', 'oneOf', 'anyOf', '$ref']

function applyMeta(schema: z.core.$ZodType, json: z.core.JSONSchema.BaseSchema): void {
  const meta = z.globalRegistry.get(schema)
  if (meta === undefined || !TYPE_KEYS.some((key) => key in meta)) return
  for (const key of Object.keys(json)) delete json[key]
  const { id: _, ...whole } = meta
  Object.assign(json, whole)
}

/** Forms that say what their pattern, a page long, would say again. */
const KNOWN_FORMATS: readonly unknown[] = ['date-time', 'uuid', 'email', 'uri']
/** So begins the description of a field that is another name of one. */
const ALIAS = /^alias of /
/** Values, not schemas. */
const VALUE_KEYS = ['examples', 'example', 'default', 'const', 'enum']

/** Without what says nothing, and with aliases marked; all the way down. */
function simplify(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(simplify)
  if (typeof node !== 'object' || node === null) return node
  const json: Json = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, VALUE_KEYS.includes(key) ? value : simplify(value)]),
  )
  if (KNOWN_FORMATS.includes(json['format'])) delete json['pattern']
  if (typeof json['description'] === 'string' && ALIAS.test(json['description'])) json['deprecated'] = true
  if (json['minimum'] === Number.MIN_SAFE_INTEGER) delete json['minimum']
  if (json['maximum'] === Number.MAX_SAFE_INTEGER) delete json['maximum']
  if (json['additionalProperties'] === false) delete json['additionalProperties'] // clients shall bear fields that come later
  if (isDeepStrictEqual(json['propertyNames'], { type: 'string' })) delete json['propertyNames']
  return json
}
