/**
 * What a schema says about a value that it does not accept, where the schema has no sentence of its own. Pass
 * SCHEMA_TEXTS when you parse what a client sent: the sentences of zod name types of JavaScript and its own terms.
 */
import type { z } from 'zod'
import { oneOfText } from './choice-text.ts'
import { countText } from './plural.ts'

type Issue = z.core.$ZodRawIssue

const TYPES: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  nan: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be an array',
  tuple: 'must be an array',
  object: 'must be an object',
  record: 'must be an object',
  null: 'must be null',
}

const FORMATS: Readonly<Record<string, string>> = {
  email: 'is not an email address',
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  url: 'must be a URL',
  datetime: 'must be a time such as 2031-05-04T10:00:00Z',
  date: 'must be a date such as 2031-05-04',
}

const FORM = 'has none of the forms that are allowed here'

const TEXTS: Readonly<Record<string, (issue: Issue) => string>> = {
  invalid_type: ({ expected }) => TYPES[String(expected)] ?? FORM,
  invalid_value: ({ values, input }) => (Array.isArray(values) ? oneOfText(values.map(String), input) : FORM),
  invalid_format: ({ format, pattern }) =>
    FORMATS[String(format)] ?? (format === 'regex' ? `must match the pattern ${String(pattern)}` : FORM),
  invalid_union: () => FORM,
  too_small: (issue) => leastText(issue),
  too_big: (issue) => mostText(issue),
  not_multiple_of: ({ divisor }) => `must be a multiple of ${String(divisor)}`,
}

/** What the values of these types have a number of. */
const PARTS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
}

function leastText({ origin, minimum, inclusive }: Issue): string {
  const parts = PARTS[String(origin)]
  if (parts !== undefined)
    return minimum === 1 ? 'must not be empty' : `must have at least ${countText(Number(minimum), ...parts)}`
  return `must be ${inclusive === false ? 'more than' : 'at least'} ${String(minimum)}`
}

function mostText({ origin, maximum, inclusive }: Issue): string {
  const parts = PARTS[String(origin)]
  if (parts !== undefined) return `must have at most ${countText(Number(maximum), ...parts)}`
  return `must be ${inclusive === false ? 'less than' : 'at most'} ${String(maximum)}`
}

/** For `safeParse`. */
export const SCHEMA_TEXTS: z.core.ParseContext<z.core.$ZodIssue> = {
  error: (issue) => (issue.input === undefined ? 'is required' : TEXTS[issue.code]?.(issue)),
}
