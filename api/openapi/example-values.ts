/**
 * Makes an example of a JSON Schema: the values that a schema gives itself, else one that its name suggests, else one
 * of its type. Fields that are aliases are left out. A test checks that each example fits its schema.
 */
import type { Json } from './schemas.ts'

export const EXAMPLE_ID = '01a2030f-d8d9-7000-b049-8c868fabd4db'
const SUFFIX = EXAMPLE_ID.replaceAll('-', '')
const TIME = '2031-01-02T03:04:05.678Z'

/** By the name of the field. */
const TEXTS: Readonly<Record<string, string>> = {
  email: 'anna@example.org',
  to: 'anna@example.org',
  from: 'shop@example.com',
  recipient: 'anna@example.org',
  address: 'anna@example.org',
  subject: 'Your order',
  name: 'Newsletter',
  domain: 'example.com',
  host: 'smtp.example.com',
  url: 'https://shop.example.com/hooks',
  email_id: `em_${SUFFIX}`,
  message_id: `msg_1925089445678_${SUFFIX}`,
  event_id: `evt_${SUFFIX}`,
  message: 'Done.',
  timezone: 'Europe/Berlin',
  first_name: 'Anna',
  firstName: 'Anna',
  last_name: 'Berg',
  lastName: 'Berg',
  html: '<p>Your order is on its way.</p>',
  body: '<p>Your order is on its way.</p>',
  text: 'Your order is on its way.',
  reason: 'asked by telephone',
}
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': TIME,
  uuid: EXAMPLE_ID,
  email: 'anna@example.org',
  uri: 'https://shop.example.com/hooks',
}

/** Examples nest at most this deep; deeper lists and objects are empty. */
const MAX_DEPTH = 7

export interface ExampleMaker {
  exampleOf(schema: Json): unknown
}

/** `components` are the named schemas that references lead to. */
export function createExampleMaker(components: Readonly<Record<string, Json>>): ExampleMaker {
  const make = (schema: Json, name: string, depth: number): unknown => {
    const target = resolve(schema, components)
    const given = givenValue(target)
    if (given !== undefined) return given
    const variants = (target['anyOf'] ?? target['oneOf']) as readonly Json[] | undefined
    if (variants !== undefined) return make(variants.find((one) => one['type'] !== 'null') ?? {}, name, depth)
    const type = typeOf(target)
    if (type === 'object') return depth > MAX_DEPTH ? {} : objectOf(target, depth)
    if (type === 'array')
      return depth > MAX_DEPTH || target['items'] === undefined ? [] : [make(target['items'] as Json, name, depth + 1)]
    return scalarOf(target, type, name)
  }
  const objectOf = ({ properties = {} }: Json, depth: number): Json =>
    Object.fromEntries(
      Object.entries(properties as Record<string, Json>)
        .filter(([, field]) => field['deprecated'] !== true)
        .map(([name, field]) => [name, make(field, name, depth + 1)]),
    )
  return { exampleOf: (schema) => make(schema, '', 0) }
}

function resolve(schema: Json, components: Readonly<Record<string, Json>>): Json {
  const reference = schema['$ref']
  return typeof reference === 'string' ? (components[reference.split('/').at(-1) ?? ''] ?? {}) : schema
}

function givenValue({ examples, example, const: fixed, enum: choices, default: preset }: Json): unknown {
  const list = [...(Array.isArray(examples) ? (examples as unknown[]) : []), example, fixed, preset]
  const value = list.find((one) => one !== undefined && one !== null)
  return value ?? (Array.isArray(choices) ? (choices as unknown[])[0] : undefined)
}

function typeOf({ type, properties }: Json): unknown {
  if (Array.isArray(type)) return (type as unknown[]).find((one) => one !== 'null')
  return type ?? (properties === undefined ? 'any' : 'object')
}

function scalarOf({ format, minimum = 1, pattern }: Json, type: unknown, name: string): unknown {
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return Math.max(1, Number(minimum))
  if (type !== 'string') return null
  const text = FORMATS[String(format)] ?? TEXTS[name] ?? (name.endsWith('_at') ? TIME : 'example')
  return typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text) ? (PATTERNS[pattern] ?? text) : text
}

/** For patterns that a value of its name does not match. */
const PATTERNS: Readonly<Record<string, string>> = {}
