import { assert } from 'chai'
import { formatSchema, type Schema } from './types.ts'

const rows: readonly (readonly [Schema, string])[] = [
  [{}, 'unknown'],
  [{ pattern: 'x' }, 'unknown'],
  [{ type: 'string', format: 'uuid' }, 'string'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: 'integer' }, 'number'],
  [{ const: true }, 'true'],
  [{ type: 'string', const: 'a' }, '"a"'],
  [{ type: 'string', enum: ['a', 'b'] }, '"a" | "b"'],
  [{ anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] }, '"a" | "b" | null'],
  [{ oneOf: [{ type: 'string' }, {}] }, 'unknown'],
  [{ allOf: [{ pattern: 'a' }, { pattern: 'b' }], type: 'string' }, 'string'],
  [{ $ref: '#/components/schemas/Message' }, 'Message'],
  [
    { allOf: [{ $ref: '#/components/schemas/A' }, { anyOf: [{ type: 'string' }, { type: 'number' }] }] },
    'A & (string | number)',
  ],
  [{ type: 'array', items: { type: 'string' } }, 'readonly string[]'],
  [{ type: 'array', items: { type: ['string', 'null'] } }, 'readonly (string | null)[]'],
  [{ type: 'array', items: { type: 'array', items: {} } }, 'readonly (readonly unknown[])[]'],
  [{ type: 'array' }, 'readonly unknown[]'],
  [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Readonly<Record<string, number>>'],
  [
    { type: 'object', properties: { a: { type: 'string' }, 'b-c': {} }, required: ['a'] },
    '{\n  readonly a: string\n  readonly "b-c"?: unknown\n}',
  ],
  [
    { type: 'object', properties: { a: { description: 'one\ntwo */' } } },
    '{\n  /** one two *\\/ */\n  readonly a?: unknown\n}',
  ],
  [{ type: 'object', properties: { a: {}, b: { deprecated: true } } }, '{\n  readonly a?: unknown\n}'],
  [
    { type: 'object', properties: { a: {} }, additionalProperties: {} },
    '{\n  readonly a?: unknown\n} & Readonly<Record<string, unknown>>',
  ],
]

describe('TypeScript types of schemas', () => {
  for (const [schema, type] of rows) it(JSON.stringify(schema), () => assert.strictEqual(formatSchema(schema), type))
})
