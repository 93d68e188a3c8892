/**
 * The helpers that templates may call, one row each; docs/guides/templates.md lists the same rows. Handlebars' built-in
 * helpers (if, unless, each, with, lookup) are also available. A helper is a pure function of its values and never
 * reads a property whose name comes from the params. Wrong use throws TemplateError with a text for the author; the
 * engine adds the line number.
 */
import { DateTime } from 'luxon'

/** An error made by the author of a template or of its params. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
}

export type HashArguments = Readonly<Record<string, unknown>>

export interface Helper {
  /** An example of its use. */
  readonly use: string
  readonly does: string
  /** Minimum and maximum number of values. */
  readonly arity: readonly [least: number, most: number]
  /** A test can also open a block: `{{#eq a b}}…{{else}}…{{/eq}}`. */
  readonly isTest?: boolean
  run(values: readonly unknown[], hash: HashArguments): unknown
}

function comparison(use: string, does: string, run: (a: unknown, b: unknown) => boolean): Helper {
  return { use, does, arity: [2, 2], isTest: true, run: ([a, b]) => run(a, b) }
}

function textHelper(use: string, does: string, run: (text: string) => string): Helper {
  return { use, does, arity: [1, 1], run: ([value]) => run(textOf(value)) }
}

export const HELPERS: Readonly<Record<string, Helper>> = {
  eq: comparison(
    '{{#if (eq status "paid")}}',
    'both are the same text, number or boolean',
    (a, b) => nullToUndefined(a) === nullToUndefined(b),
  ),
  ne: comparison(
    '{{#if (ne status "paid")}}',
    'they are not the same',
    (a, b) => nullToUndefined(a) !== nullToUndefined(b),
  ),
  gt: comparison('{{#if (gt total 100)}}', 'the first number is greater', (a, b) => numberOf(a) > numberOf(b)),
  gte: comparison(
    '{{#if (gte total 100)}}',
    'the first number is greater or equal',
    (a, b) => numberOf(a) >= numberOf(b),
  ),
  lt: comparison('{{#if (lt total 100)}}', 'the first number is smaller', (a, b) => numberOf(a) < numberOf(b)),
  lte: comparison(
    '{{#if (lte total 100)}}',
    'the first number is smaller or equal',
    (a, b) => numberOf(a) <= numberOf(b),
  ),
  and: {
    use: '{{#if (and paid shipped)}}',
    does: 'all values are present (not empty, not zero, not false)',
    arity: [1, 20],
    isTest: true,
    run: (values) => values.every(isPresent),
  },
  or: {
    use: '{{#if (or phone mobile)}}',
    does: 'at least one value is present',
    arity: [1, 20],
    isTest: true,
    run: (values) => values.some(isPresent),
  },
  not: {
    use: '{{#if (not paid)}}',
    does: 'the value is not present',
    arity: [1, 1],
    isTest: true,
    run: ([value]) => !isPresent(value),
  },
  default: {
    use: '{{default firstName "friend"}}',
    does: 'the first value that is neither missing nor an empty text',
    arity: [2, 20],
    run: (values) => values.find((value) => value !== undefined && value !== null && value !== ''),
  },
  upper: textHelper('{{upper code}}', 'in upper case', (text) => text.toUpperCase()),
  lower: textHelper('{{lower code}}', 'in lower case', (text) => text.toLowerCase()),
  capitalize: textHelper('{{capitalize name}}', 'with its first letter in upper case', (text) =>
    text.replace(/^./su, (letter) => letter.toUpperCase()),
  ),
  trim: textHelper('{{trim name}}', 'without white space around it', (text) => text.trim()),
  truncate: {
    use: '{{truncate title 60}}',
    does: 'at most that many characters, with "…" where text was cut off',
    arity: [2, 2],
    run: ([text, length]) => truncate(textOf(text), numberOf(length)),
  },
  number: {
    use: '{{number total decimals=2 locale="de-DE" currency="EUR"}}',
    does: 'a formatted number; locale (en-US), decimals and currency are optional',
    arity: [1, 1],
    run: ([value], hash) => formatNumber(value, hash),
  },
  date: {
    use: '{{date orderedAt "d LLLL yyyy" zone="Europe/Berlin" locale="de-DE"}}',
    does:
      'an ISO 8601 time, or milliseconds since 1970, in a Luxon format (yyyy-MM-dd); ' +
      'zone (UTC) and locale (en-US) are optional',
    arity: [1, 2],
    run: ([value, format], hash) => formatDate(value, format, hash),
  },
}

/** Truthiness as in `if`: an empty list is not present. */
function isPresent(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

function nullToUndefined(value: unknown): unknown {
  return value === null ? undefined : value
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new TemplateError(`takes a text, not ${Array.isArray(value) ? 'a list' : 'an object'}`)
}

function numberOf(value: unknown): number {
  if (value === undefined || value === null || value === '') return Number.NaN
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN
  if (Number.isNaN(number)) throw new TemplateError(`takes a number, not ${quoteValue(value)}`)
  return number
}

function quoteValue(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 60)
}

function truncate(text: string, length: number): string {
  if (Number.isNaN(length)) return text
  const letters = Array.from(text.slice(0, 2 * length + 2)) // whole code points, one or two UTF-16 units each
  return letters.length <= length
    ? text
    : `${letters
        .slice(0, Math.max(0, length - 1))
        .join('')
        .trimEnd()}…`
}

function optionOf(hash: HashArguments, name: string): string | undefined {
  const value = hash[name]
  return value === undefined || value === null || value === '' ? undefined : textOf(value)
}

function localeOf(hash: HashArguments): string {
  const locale = optionOf(hash, 'locale') ?? 'en-US'
  try {
    return Intl.getCanonicalLocales(locale)[0] ?? 'en-US'
  } catch {
    throw new TemplateError(`does not know the locale ${quoteValue(locale)}`)
  }
}

function formatNumber(value: unknown, hash: HashArguments): string {
  const number = numberOf(value)
  if (Number.isNaN(number)) return ''
  const currency = optionOf(hash, 'currency')
  const decimals = optionOf(hash, 'decimals')
  const digits =
    decimals === undefined ? {} : { minimumFractionDigits: Number(decimals), maximumFractionDigits: Number(decimals) }
  try {
    return new Intl.NumberFormat(localeOf(hash), {
      ...digits,
      ...(currency === undefined ? {} : { style: 'currency', currency }),
    }).format(number)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new TemplateError(
      `cannot write a number with currency=${quoteValue(currency)} decimals=${quoteValue(decimals)}`,
    )
  }
}

function formatDate(value: unknown, format: unknown, hash: HashArguments): string {
  if (value === undefined || value === null || value === '') return ''
  const zone = optionOf(hash, 'zone') ?? 'UTC'
  const moment =
    typeof value === 'number'
      ? DateTime.fromMillis(value, { zone })
      : DateTime.fromISO(textOf(value), { zone, setZone: false })
  if (!moment.isValid)
    throw new TemplateError(
      moment.invalidReason === 'unsupported zone'
        ? `does not know the zone ${quoteValue(zone)}`
        : `takes a time such as 2031-05-04T10:00:00Z, not ${quoteValue(value)}`,
    )
  const localised = moment.setLocale(localeOf(hash))
  const pattern = textOf(format)
  return pattern === '' ? localised.toLocaleString(DateTime.DATE_FULL) : localised.toFormat(pattern)
}
