/**
 * zod schemas as JSON Schemas: for the OpenAPI document, and to find fields that a request does not have. A schema with
 * an id (`.meta({ id })`) is a definition that others refer to.
 */
import { z, type ZodType } from 'zod'

export type Json = Record<string, unknown>

export const COMPONENTS = '#/components/schemas/'

/** Schemas that others refer to by `referTo`. */
const referred = new Map<string, ZodType>()

/** A reference to a schema with an id, for a schema that contains it but parses it separately. */
export function referTo(schema: ZodType): { readonly $ref: string } {
  const id = schema.meta()?.id
  if (id === undefined) throw new Error('a schema without an id cannot be referred to')
  referred.set(id, schema)
  return { $ref: COMPONENTS + id }
}

/** The schema that `referTo` has returned a reference to. */
export function findReferred(ref: string): ZodType | undefined {
  return ref.startsWith(COMPONENTS) ? referred.get(ref.slice(COMPONENTS.length)) : undefined
}

export function toJsonSchema(schema: ZodType, io: 'input' | 'output'): Json {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: (one) => applyMeta(one.zodSchema, one.jsonSchema),
  })
}

/** A `.meta` with one of these keys replaces the generated JSON Schema, which cannot express all that zod checks. */
const TYPE_KEYS = ['type', 'oneOf', 'anyOf', '$ref']

function applyMeta(schema: z.core.$ZodType, json: z.core.JSONSchema.BaseSchema): void {
  const meta = z.globalRegistry.get(schema)
  if (meta === undefined || !TYPE_KEYS.some((key) => key in meta)) return
  for (const key of Object.keys(json)) delete json[key]
  const { id: _, ...whole } = meta
  Object.assign(json, whole)
}
