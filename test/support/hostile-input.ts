/**
 * Generates hostile requests with fast-check: almost valid values made from a route's schema, the same values with one
 * part replaced, and bodies that are not data at all. A failure prints the seed that repeats it.
 */
import fc from 'fast-check'
import { z, type ZodType } from 'zod'

type Json = Record<string, unknown>

const LONG = 20_000
/** What breaks parsers, databases, templates, headers, pages, and expressions that go back and forth. */
const HOSTILE_VALUES: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  1e308,
  -0,
  2 ** 53,
  2 ** 31,
  Number.MIN_VALUE,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  { length: 5 },
  { toString: 1 },
  { constructor: { prototype: {} } },
  { $ne: null },
  '\0',
  '\ud800',
  '\uFFFE',
  '\u202e',
  '\u00a0',
  '%00%0d%0a',
  'null',
  'undefined',
  'NaN',
  '1e9',
  '0x10',
  '__proto__',
  'constructor',
  "'; DROP TABLE messages; --",
  '{{name}}',
  '{{#each this}}',
  '${1}',
  '../../etc/passwd',
  '<script>',
  'hasOwnProperty',
  'toString',
  'a@b.example\r\nBcc: c@d.example',
  '=?utf-8?q?x?=',
  '2026-13-45',
  '+275760-09-14T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '9999-12-31_23:59:59',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'x'.repeat(LONG),
  `${' '.repeat(LONG)}x`,
  'a@'.repeat(LONG / 2),
  'a.'.repeat(LONG / 2),
  '<'.repeat(LONG),
  '"'.repeat(LONG),
  '{{'.repeat(LONG / 2),
  ','.repeat(LONG),
  '1'.repeat(LONG),
  '\\'.repeat(LONG),
  '\u{1f600}'.repeat(LONG / 2),
  `${'a'.repeat(LONG)}!`,
  'http://'.repeat(LONG / 8),
  `a@${'b.'.repeat(LONG / 2)}example`,
  Array.from({ length: 1500 }, (_, i) => `a${i}@b.example`),
  Array.from({ length: 2000 }, () => ({})),
  Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i])),
  nested(60),
  nested(60, 'list'),
]

function nested(depth: number, kind: 'object' | 'list' = 'object'): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = kind === 'object' ? { a: value } : [value]
  return value
}

const anything = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_VALUES) },
  { weight: 1, arbitrary: fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)

const SOON = new Date(Date.now() + 3_600_000).toISOString()

/** Texts that a field of this name might have. `ids` are those of objects that are there. */
function textFor(name: string, ids: readonly string[]): fc.Arbitrary<string> {
  const known: readonly (readonly [RegExp, readonly string[]])[] = [
    [/ids?$|token|proof|domainID/i, ids],
    [
      /email|address|^to$|^cc$|^bcc$|from$|reply/i,
      ['a@b.example', 'Name <a@b.example>', 'A.b+c@sub.b.example', ...ids],
    ],
    [/url|endpoint|linkedin/i, ['https://hook.example/a', 'http://127.0.0.1/', 'https://[::1]:9/x?y#z']],
    [/timezone/i, ['UTC', 'Europe/Berlin', 'America/New_York']],
    [/_at$|At$|^at$|after|before|since|until/i, ['2099-01-01T00:00:00Z', SOON, '2031-03-30_02:30:00', ...ids]],
    [/^wait|timeout/i, ['0', '-1', 'x']],
    [/page|limit/i, ['1', '2', '0', '1000', '1001', '-1', '1000000', '99999999']],
    [/domain/i, ['new.example', 'münchen.example', 'localhost', ...ids]],
    [/body|html|subject|text/i, ['Hello {{name}}', '<p>Hello</p>', 'plain']],
  ]
  const matching = known.filter(([pattern]) => pattern.test(name)).flatMap(([, texts]) => texts)
  const plain = fc.oneof(fc.string(), fc.constantFrom('a', 'true', 'x y', '1'))
  return matching.length === 0
    ? plain
    : fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...matching) }, { weight: 1, arbitrary: plain })
}

interface GenerationState {
  readonly root: Json
  readonly ids: readonly string[]
  readonly depth: number
}

const MAX_DEPTH = 5
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Values that a JSON Schema mostly allows. */
function valueOf(schema: unknown, name: string, state: GenerationState): fc.Arbitrary<unknown> {
  if (!isJson(schema) || state.depth > MAX_DEPTH) return anything
  const deeper = { ...state, depth: state.depth + 1 }
  const ref = schema['$ref']
  if (typeof ref === 'string') return valueOf(resolve(state.root, ref), name, deeper)
  if ('const' in schema) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]))
  const choices = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(choices)) return fc.oneof(...choices.map((one) => valueOf(one, name, deeper)))
  if (Array.isArray(schema['allOf'])) return valueOf(schema['allOf'][0], name, deeper)
  const type: unknown = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  return GENERATORS[String(type)]?.(schema, name, deeper) ?? fc.oneof(anything, textFor(name, state.ids))
}

const GENERATORS: Readonly<Record<string, (schema: Json, name: string, at: GenerationState) => fc.Arbitrary<unknown>>> =
  {
    string: (_, name, { ids }) => textFor(name, ids),
    boolean: () => fc.boolean(),
    null: () => fc.constant(null),
    integer: () => fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer()),
    number: () => fc.oneof(fc.integer({ min: 0, max: 100 }), fc.double({ noNaN: true })),
    array: (schema, name, at) => fc.array(valueOf(schema['items'], name, at), { maxLength: 3 }),
    object: objectOf,
  }

function objectOf(schema: Json, name: string, state: GenerationState): fc.Arbitrary<unknown> {
  const fields = Object.entries((schema['properties'] ?? {}) as Json)
  const others = valueOf(schema['additionalProperties'], name, state)
  if (fields.length === 0) return fc.dictionary(fc.string({ maxLength: 20 }), others, { maxKeys: 4 })
  const required = (Array.isArray(schema['required']) ? schema['required'] : []) as string[]
  const model = Object.fromEntries(fields.map(([field, inner]) => [field, valueOf(inner, field, state)]))
  // a handful of the fields at a time: with all of them there, aliases contradict each other
  return fc
    .subarray(
      fields.map(([field]) => field),
      { maxLength: Math.min(6, fields.length) },
    )
    .chain((chosen) => {
      const included = new Set([...required, ...chosen])
      return fc.record(Object.fromEntries(Object.entries(model).filter(([field]) => included.has(field))))
    })
}

function resolve(root: Json, ref: string): unknown {
  return ref === '#'
    ? root
    : ref
        .slice(2)
        .split('/')
        .reduce<unknown>((node, key) => (isJson(node) ? node[key] : undefined), root)
}

/** One thing in a value is something else. */
export function mutated(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const path = fc.array(fc.nat({ max: 50 }), { maxLength: 3 })
  return fc.tuple(value, path, anything).map(([whole, steps, other]) => replaceAt(whole, steps, other))
}

function replaceAt(value: unknown, [step, ...rest]: readonly number[], other: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return other
  const keys = Object.keys(value)
  const key = keys[step % Math.max(1, keys.length)]
  if (key === undefined) return other
  const inner = replaceAt((value as Json)[key], rest, other)
  return Array.isArray(value) ? value.with(Number(key), inner) : { ...value, [key]: inner }
}

/** What a schema takes, nearly. */
export function almostValid(schema: ZodType | undefined, ids: readonly string[]): fc.Arbitrary<unknown> {
  if (schema === undefined) return fc.constant({})
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json
  const made = valueOf(root, '', { root, ids, depth: 0 })
  return fc.oneof(
    { weight: 4, arbitrary: made },
    { weight: 4, arbitrary: mutated(made) },
    { weight: 1, arbitrary: anything },
  )
}

/** As text in an address: of an object, each field percent-encoded, lists as the name again and again. */
export function queryOf(value: unknown): string {
  const pairs = isJson(value) ? Object.entries(value) : [['id', value] as const]
  const parts = pairs.flatMap(([name, given]) =>
    (Array.isArray(given) ? given : [given]).map((one) => `${encodeComponent(name)}=${encodeComponent(textOf(one))}`),
  )
  const lengths = parts.map(({ length }, i) => parts.slice(0, i).reduce((sum, part) => sum + part.length + 1, length))
  return parts.filter((_, i) => (lengths[i] ?? 0) < MAX_QUERY).join('&')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Longer than this, and the whole request is refused for its headers. */
const MAX_QUERY = 8000
const MAX_COMPONENT = 2000

export function encodeComponent(text: string): string {
  return encodeURIComponent(text.slice(0, MAX_COMPONENT).toWellFormed())
}

/** Parts of an address that are no text. */
export const hostilePathSegments: fc.Arbitrary<string> = fc.constantFrom(
  '%00',
  '%ff',
  '%ED%A0%80',
  '..%2f..',
  '%',
  '%u0041',
  '%25',
  '%2e%2e',
  "'",
  'null',
  '-1',
  '1e9',
)

/** Bodies that are no data, or too much of it. */
export const hostileBodies: fc.Arbitrary<string | Buffer> = fc.oneof(
  fc.constantFrom(
    '',
    '{',
    '"x"',
    'null',
    '[]',
    '[1]',
    '0',
    'true',
    '{"a":1,"a":2}',
    '{"__proto__":{"a":1}}',
    '\ufeff{}',
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
    '['.repeat(50_000),
    '{"a":'.repeat(10_000),
    `{"a":"${'x'.repeat(200_000)}"}`,
    `[${'{},'.repeat(50_000)}{}]`,
    ' '.repeat(100_000),
    'a=b&c=d',
    '--x\r\n\r\n--x--',
    'email\na@b.example\n',
    `email,${'x,'.repeat(5000)}\n"`,
    '<?xml version="1.0"?>',
  ),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json({ maxDepth: 4 }),
)

export const hostileContentTypes: fc.Arbitrary<string> = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json; charset=utf-8',
  'text/csv',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'x',
  '',
)
