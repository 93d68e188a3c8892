import { assert } from 'chai'
import { z, type ZodType } from 'zod'
import { findFieldTranslation } from './field-texts.ts'
import { SCHEMA_TEXTS } from './schema-texts.ts'

const CASES: readonly (readonly [schema: ZodType, value: unknown, text: string])[] = [
  [z.string(), undefined, 'is required'],
  [z.string(), 5, 'must be a string'],
  [z.string(), null, 'must be a string'],
  [z.number(), '5', 'must be a number'],
  [z.number(), NaN, 'must be a number'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.array(z.string()), {}, 'must be an array'],
  [z.object({}), [], 'must be an object'],
  [z.record(z.string(), z.string()), 5, 'must be an object'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(8), 'short', 'must have at least 8 characters'],
  [z.string().max(3), 'long', 'must have at most 3 characters'],
  [z.array(z.string()).min(1), [], 'must not be empty'],
  [z.array(z.string()).min(2), [], 'must have at least 2 entries'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
  [z.string().max(1), 'ab', 'must have at most 1 character'],
  [z.string().max(1000), 'x'.repeat(1001), 'must have at most 1,000 characters'],
  [z.array(z.string()).max(2), ['a', 'b', 'c'], 'must have at most 2 entries'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().max(10), 11, 'must be at most 10'],
  [z.number().gt(0), 0, 'must be more than 0'],
  [z.number().lt(10), 10, 'must be less than 10'],
  [z.number().multipleOf(5), 7, 'must be a multiple of 5'],
  [z.enum(['asc', 'desc']), 'descc', 'must be one of asc, desc; did you mean desc?'],
  [z.email(), 'nobody', 'is not an email address'],
  [z.uuid(), '5', 'must be a UUID'],
  [z.guid(), '5', 'must be a UUID'],
  [z.url(), 'x', 'must be a URL'],
  [z.iso.datetime(), 'today', 'must be a time such as 2031-05-04T10:00:00Z'],
  [z.iso.date(), 'today', 'must be a date such as 2031-05-04'],
  [z.string().regex(/^a+$/), 'b', 'must match the pattern /^a+$/'],
  [z.ipv4(), 'x', 'has none of the forms that are allowed here'],
  [z.union([z.string(), z.number()]), true, 'has none of the forms that are allowed here'],
  [z.string().min(2, 'says it by itself'), '', 'says it by itself'],
]

describe('SCHEMA_TEXTS', () => {
  for (const [schema, value, text] of CASES)
    it(`of ${(JSON.stringify(value) ?? 'nothing').slice(0, 40)}: ${text}`, () => {
      const { error } = schema.safeParse(value, SCHEMA_TEXTS)
      assert.deepEqual(
        error?.issues.map(({ message }) => message),
        [text],
      )
      if (!text.includes('by itself')) assert.isNotNull(findFieldTranslation(text), 'it has a code')
    })
})
