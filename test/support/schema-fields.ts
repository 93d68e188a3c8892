/** The names of fields: of a zod schema, and of a value. */
import { z, type ZodType } from 'zod'

type Node = Readonly<Record<string, unknown>>

/** The names of all fields of a schema, at any depth. */
export function fieldsOf(schema: ZodType | undefined): string[] {
  if (schema === undefined) return []
  const names = new Set<string>()
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const name of Object.keys((node as Node)['properties'] ?? {})) names.add(name)
    Object.values(node).forEach(walk)
  }
  walk(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  return [...names]
}

/** The names of all fields of a value, at any depth. */
export function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(keysOf)]
}
