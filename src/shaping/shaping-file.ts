/**
 * The shaping file: limits for each receiver, and what its replies change (docs/guides/traffic-shaping.md). Parses YAML
 * into a `Shaping`, or into the list of all errors with their lines. Pure: no files, no clock. The result is well
 * formed; `shaping-lint.ts` checks whether every line can have an effect.
 */
import { Lexer, LineCounter, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { readDuration, readRate, type Rate } from './rate-syntax.ts'
import { readPattern, type ReplyPattern } from './reply-pattern.ts'

/** Receivers with a fixed name: for hosts that match no other receiver, and for hosts of the transport map (ROUTES). */
export const FALLBACK = 'default'
export const TRANSPORT_MAP = 'transport-map'

export interface ShapingReceiver {
  readonly name: string
  /** Display name. */
  readonly title: string
  /** `mx1.example.com`, or `*.example.com` for all names below it. */
  readonly mx: readonly string[]
  readonly domains: readonly string[]
  /** All domains of the receiver share the limits; else each site has its own. */
  readonly isProviderWide: boolean
  /** All sources together; else each source has its own limits. */
  readonly isForAllSources: boolean
  /** Concurrent connections. */
  readonly connections: number
  readonly messagesPerConnection: number
  readonly messageRate: Rate | null
  /** New connections. */
  readonly connectionRate: Rate | null
}

export type RuleAction = 'suspend' | 'slow' | 'tell'
/**
 * What a suspension stops: the source that got the reply at this receiver, one workspace at this receiver, or the
 * source everywhere.
 */
export type SuspensionScope = 'receiver' | 'workspace' | 'source'

export interface ReplyRule {
  readonly name: string
  /** Names of receivers; empty = all. */
  readonly receivers: readonly string[]
  readonly codes: readonly number[]
  readonly enhanced: readonly string[]
  readonly text: ReplyPattern | null
  readonly action: RuleAction
  /** Duration of a suspension, before RETRY_SCALE. */
  readonly durationMs: number
  readonly scope: SuspensionScope
}

export interface Shaping {
  /** In the order of the file; the first match counts. `default` and `transport-map` are included. */
  readonly receivers: readonly ShapingReceiver[]
  /** In the order of the file; the first match counts. */
  readonly rules: readonly ReplyRule[]
}

export interface ShapingProblem {
  /** Line number from 1; 0 if the error belongs to no line. */
  readonly line: number
  readonly text: string
}

export type LineOf = (path: readonly (string | number)[]) => number

export type ShapingResult =
  | {
      readonly kind: 'shaping'
      readonly shaping: Shaping
      readonly lineOf: LineOf
      /** The file as a plain value, for `shapingOfValue`. */
      readonly value: unknown
    }
  | { readonly kind: 'wrong'; readonly problems: readonly ShapingProblem[] }

const ZERO = 'must be at least 1: a limit of zero stops all mail; suspend the destination instead'
const positive = z.number().int('must be a whole number').min(1, ZERO).max(100_000)
const rate = z.string().transform((text, ctx): Rate => {
  const read = readRate(text)
  if (read !== null) return read
  ctx.addIssue({ code: 'custom', message: 'must be a rate such as 100/min, 5/s or 1000/h, not zero' })
  return z.NEVER
})
const duration = z.string().transform((text, ctx): number => {
  const read = readDuration(text)
  if (read !== null) return read
  ctx.addIssue({ code: 'custom', message: 'must be a duration such as 90s, 15min, 2h or 1d, not zero' })
  return z.NEVER
})
const pattern = z.string().transform((text, ctx): ReplyPattern => {
  const read = readPattern(text)
  if (read.kind === 'pattern') return read.pattern
  ctx.addIssue({ code: 'custom', message: read.reason })
  return z.NEVER
})
const HOST = 'must be a host such as mx.example.com, or *.example.com for all below it, in lower case'
const hostPattern = z.string().regex(/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/, HOST)
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'must be a name of lower-case letters, digits and hyphens')

function oneOrMore<T extends z.ZodType>(item: T) {
  return z
    .union([item, z.array(item).min(1)])
    .transform((given) => (Array.isArray(given) ? given : [given]) as z.output<T>[])
}

const receiverSchema = z.strictObject({
  title: z.string().min(1).max(80).optional(),
  mx: z.array(hostPattern).default([]),
  domains: z.array(hostPattern).default([]),
  provider_wide: z.boolean().default(false),
  all_sources: z.boolean().default(false),
  connections: positive,
  messages_per_connection: positive,
  message_rate: rate.optional(),
  connection_rate: rate.optional(),
})
const ruleSchema = z
  .strictObject({
    name,
    receiver: oneOrMore(name).optional(),
    code: oneOrMore(z.number().int().min(400, 'must be a 4xx or 5xx reply code: 400 to 599').max(599)).optional(),
    enhanced: oneOrMore(
      z.string().regex(/^[45]\.\d{1,3}\.\d{1,3}$/, 'must be an enhanced code such as 4.7.0'),
    ).optional(),
    text: pattern.optional(),
    action: z.enum(['suspend', 'slow', 'tell']),
    for: duration.optional(),
    of: z.enum(['receiver', 'workspace', 'source']).optional(),
  })
  .superRefine((rule, ctx) => {
    const isSuspend = rule.action === 'suspend'
    const object = (field: string, message: string): void => ctx.addIssue({ code: 'custom', path: [field], message })
    if (isSuspend && rule.for === undefined) object('action', 'suspend needs a duration, such as for: 2h')
    if (!isSuspend && rule.for !== undefined) object('for', `applies only to suspend, not to ${rule.action}`)
    if (!isSuspend && rule.of !== undefined) object('of', `applies only to suspend, not to ${rule.action}`)
  })
const fileSchema = z.strictObject({ receivers: z.record(name, receiverSchema), rules: z.array(ruleSchema).default([]) })

/** A file needs three. The parser exhausts its stack with thousands, and then names the wrong line. */
const MAX_BRACKETS = 20

/** The line with too many open brackets; null if there is none. */
function findTooDeepLine(text: string): number | null {
  let [line, open] = [1, 0]
  for (const token of new Lexer().lex(text)) {
    line += token.split('\n').length - 1
    if (token === '{' || token === '[') open += 1
    else if (token === '}' || token === ']') open -= 1
    if (open > MAX_BRACKETS) return line
  }
  return null
}

/** @param text YAML */
export function readShaping(text: string): ShapingResult {
  const tooDeep = findTooDeepLine(text)
  if (tooDeep !== null)
    return { kind: 'wrong', problems: [{ line: tooDeep, text: `more than ${MAX_BRACKETS} brackets are open here` }] }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (document.errors.length > 0)
    return {
      kind: 'wrong',
      problems: document.errors.map(({ code, pos, message }) => ({
        line: lines.linePos(pos[0]).line,
        text: code === 'RESOURCE_EXHAUSTION' ? 'this is nested too deeply' : message,
      })),
    }
  const lineOf: LineOf = (path) => findLine(document, lines, path)
  const plain = readPlain(document)
  if (!plain.ok) return { kind: 'wrong', problems: [{ line: 0, text: plain.text }] }
  const parsed = fileSchema.safeParse(plain.value, { error: describeType })
  if (!parsed.success) return { kind: 'wrong', problems: parsed.error.issues.map((issue) => problemOf(issue, lineOf)) }
  const missing = [FALLBACK, TRANSPORT_MAP].filter((one) => parsed.data.receivers[one] === undefined)
  if (missing.length > 0)
    return { kind: 'wrong', problems: missing.map((one) => ({ line: 0, text: missingReceiver(one) })) }
  return { kind: 'shaping', shaping: shapingOf(parsed.data), lineOf, value: plain.value }
}

/** @param value that of a shaping file without problems */
export function shapingOfValue(value: unknown): Shaping {
  return shapingOf(fileSchema.parse(value))
}

/** An unknown alias, or too many aliases, is an error only when the values are resolved. */
function readPlain(
  document: Document,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly text: string } {
  try {
    return { ok: true, value: document.toJS({ maxAliasCount: 50 }) }
  } catch (error) {
    return { ok: false, text: error instanceof Error ? error.message : String(error) }
  }
}

const EXAMPLE = '{connections: 10, messages_per_connection: 20}'

function missingReceiver(receiver: string): string {
  const covers = receiver === FALLBACK ? 'all hosts that no other receiver matches' : 'the hosts of ROUTES'
  return `receivers: "${receiver}" is missing: it has the limits of ${covers}, such as ${receiver}: ${EXAMPLE}`
}

const SECTIONS: Readonly<Record<string, string>> = {
  '': `the file has no sections: it needs "receivers:" and may have "rules:"`,
  receivers: `the section "receivers:" is missing: add it, with ${FALLBACK}: ${EXAMPLE} and such a ${TRANSPORT_MAP}`,
}

/** What is missing, or of another type than it must be; null for other issues, which have a text. */
function describeType({ code, input, path, ...issue }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'invalid_type') return undefined
  const section = (path ?? []).join('.')
  if (input === undefined || input === null) return SECTIONS[section] ?? 'is missing'
  const wanted = String('expected' in issue ? issue.expected : '').replace('record', 'object')
  const given = Array.isArray(input) ? 'list' : typeof input
  return `must be of the type ${wanted.replace('array', 'list')}, and is a ${given}`
}

function problemOf({ path: keys, message }: z.core.$ZodIssue, lineOf: LineOf): ShapingProblem {
  const path = keys.filter((key) => typeof key !== 'symbol')
  const isSection = Object.values(SECTIONS).includes(message)
  const where = path.length === 0 ? 'the file' : path.join('.')
  return { line: isSection ? 0 : lineOf(path), text: isSection ? message : `${where}: ${message}` }
}

/** The line of a value, or of the nearest enclosing node that exists. */
function findLine(document: Document, lines: LineCounter, path: readonly (string | number)[]): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
    const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : null
    if (Array.isArray(range)) return lines.linePos(Number(range[0])).line
  }
  return 0
}

function shapingOf({ receivers, rules }: z.output<typeof fileSchema>): Shaping {
  return {
    receivers: Object.entries(receivers).map(([key, one]) => ({
      name: key,
      title: one.title ?? key,
      mx: one.mx,
      domains: one.domains,
      isProviderWide: one.provider_wide,
      isForAllSources: one.all_sources,
      connections: one.connections,
      messagesPerConnection: one.messages_per_connection,
      messageRate: one.message_rate ?? null,
      connectionRate: one.connection_rate ?? null,
    })),
    rules: rules.map((one) => ({
      name: one.name,
      receivers: one.receiver ?? [],
      codes: one.code ?? [],
      enhanced: one.enhanced ?? [],
      text: one.text ?? null,
      action: one.action,
      durationMs: one.for ?? 0,
      scope: one.of ?? 'receiver',
    })),
  }
}
