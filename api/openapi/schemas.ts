/**
 * Converts zod schemas to the JSON Schemas of the OpenAPI document. Schemas with an id (`.meta({ id })`), and all
 * bodies and responses, become named components that are referred to; other schemas are inlined.
 * @throws if two different schemas have the same name, which is a mistake in the table of routes.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ZodType } from 'zod'
import { COMPONENTS, toJsonSchema, type Json } from '#api/http/json-schema.ts'

export type { Json }

export interface SchemaRegistry {
  /** The schema inlined; parts that have an id are references. */
  inline(schema: ZodType, io: 'input' | 'output'): Json
  /** A reference to the schema as a component, under its own id or else under `name`. */
  refer(schema: ZodType, io: 'input' | 'output', name: string): Json
  /** All components so far, by name. */
  readonly components: Readonly<Record<string, Json>>
}

export function createSchemaRegistry(): SchemaRegistry {
  const components: Record<string, Json> = {}
  const names = new Map<ZodType, string>()
  // one schema serves all paths of an endpoint, and often several endpoints
  const cached = { input: new Map<ZodType, Json>(), output: new Map<ZodType, Json>() }

  const add = (name: string, json: Json): void => {
    const before = components[name]
    if (before !== undefined && !isDeepStrictEqual(before, json))
      throw new Error(`two different schemas of the API are named ${name}`)
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
  const json = JSON.stringify(toJsonSchema(schema, io)).replaceAll('"#/$defs/', `"${COMPONENTS}`)
  return simplify(JSON.parse(json)) as Json
}

/** Formats that make their long regular expression redundant. */
const KNOWN_FORMATS: readonly unknown[] = ['date-time', 'uuid', 'email', 'uri']
/** How the description of an alias begins. */
const ALIAS = /^alias of /
/** Keys with values in them, not schemas. */
const VALUE_KEYS = ['examples', 'example', 'default', 'const', 'enum']

/** Removes keywords that add nothing, and marks aliases as deprecated, recursively. */
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
  if (json['additionalProperties'] === false) delete json['additionalProperties'] // clients must tolerate new fields
  if (isDeepStrictEqual(json['propertyNames'], { type: 'string' })) delete json['propertyNames']
  return json
}
