/**
 * The shaping file: how much each receiver is asked to take, and what its replies make us do (docs/guides/traffic-shaping.md). Read from YAML into a
 * `Shaping`, or into the list of all that is wrong with it, each with its line. Pure: no files, no clock. What is read here is well formed;
 * whether each line can have an effect is looked at in `shaping-lint.ts`.
 */
import { LineCounter, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { readDuration, readRate, type Rate } from './rate-syntax.ts'
import { readPattern, type ReplyPattern } from './reply-pattern.ts'

/** Names with a part of their own: for hosts that match no other, and for hosts of the transport map (ROUTES). */
export const FALLBACK = 'default'
export const OWN_HOSTS = 'transport-map'

export interface Receiver {
  readonly name: string
  /** For people. */
  readonly title: string
  /** `mx1.example.com`, or `*.example.com` for all below it. */
  readonly mx: readonly string[]
  readonly domains: readonly string[]
  /** All of its domains share the limits; else each site has its own. */
  readonly isProviderWide: boolean
  /** All of our addresses together; else each source has its own. */
  readonly isForAllSources: boolean
  /** Open at once. */
  readonly connections: number
  readonly messagesPerConnection: number
  readonly messageRate: Rate | null
  /** New connections. */
  readonly connectionRate: Rate | null
}

export type Action = 'suspend' | 'slow' | 'tell'
/** What a suspension stops: the source that was refused at this receiver, one workspace at this receiver, or the source everywhere. */
export type SuspensionScope = 'receiver' | 'workspace' | 'source'

export interface ReplyRule {
  readonly name: string
  /** Names of receivers; empty = all. */
  readonly receivers: readonly string[]
  readonly codes: readonly number[]
  readonly enhanced: readonly string[]
  readonly text: ReplyPattern | null
  readonly action: Action
  /** Of a suspension, before RETRY_SCALE. */
  readonly durationMs: number
  readonly scope: SuspensionScope
}

export interface Shaping {
  /** In the order of the file: the first that matches. `default` and `transport-map` are among them. */
  readonly receivers: readonly Receiver[]
  /** The first that matches. */
  readonly rules: readonly ReplyRule[]
}

export interface Problem {
  /** From 1; 0 when it belongs to no line. */
  readonly line: number
  readonly text: string
}

export type Place = (path: readonly (string | number)[]) => number

export type Read =
  | { readonly kind: 'shaping'; readonly shaping: Shaping; readonly lineOf: Place }
  | { readonly kind: 'wrong'; readonly problems: readonly Problem[] }

const ZERO = 'at least 1: a limit of zero stops all mail; suspend the destination instead'
const positive = z.number().int('a whole number').min(1, ZERO).max(100_000)
const rate = z.string().transform((text, ctx): Rate => {
  const read = readRate(text)
  if (read !== null) return read
  ctx.addIssue({ code: 'custom', message: 'a rate is written like 100/min, 5/s or 1000/h and is not zero' })
  return z.NEVER
})
const duration = z.string().transform((text, ctx): number => {
  const read = readDuration(text)
  if (read !== null) return read
  ctx.addIssue({ code: 'custom', message: 'a time is written like 90s, 15min, 2h or 1d and is not zero' })
  return z.NEVER
})
const pattern = z.string().transform((text, ctx): ReplyPattern => {
  const read = readPattern(text)
  if (read.kind === 'pattern') return read.pattern
  ctx.addIssue({ code: 'custom', message: read.why })
  return z.NEVER
})
const HOST = 'a host is written like mx.example.com, or *.example.com for all below it, in lower case'
const hostPattern = z.string().regex(/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/, HOST)
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'a name has lower-case letters, digits and hyphens')

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
    code: oneOrMore(z.number().int().min(400, 'only refusals are looked at: 400 to 599').max(599)).optional(),
    enhanced: oneOrMore(
      z.string().regex(/^[45]\.\d{1,3}\.\d{1,3}$/, 'an enhanced code is written like 4.7.0'),
    ).optional(),
    text: pattern.optional(),
    action: z.enum(['suspend', 'slow', 'tell']),
    for: duration.optional(),
    of: z.enum(['receiver', 'workspace', 'source']).optional(),
  })
  .superRefine((rule, ctx) => {
    const isSuspend = rule.action === 'suspend'
    const object = (field: string, message: string): void => ctx.addIssue({ code: 'custom', path: [field], message })
    if (isSuspend && rule.for === undefined) object('action', 'suspend needs a time: for: 2h')
    if (!isSuspend && rule.for !== undefined) object('for', `only suspend takes a time; this is ${rule.action}`)
    if (!isSuspend && rule.of !== undefined) object('of', `only suspend says of what; this is ${rule.action}`)
  })
const fileSchema = z.strictObject({ receivers: z.record(name, receiverSchema), rules: z.array(ruleSchema).default([]) })

/** @param text YAML */
export function readShaping(text: string): Read {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (document.errors.length > 0)
    return {
      kind: 'wrong',
      problems: document.errors.map((error) => ({ line: lines.linePos(error.pos[0]).line, text: error.message })),
    }
  const lineOf: Place = (path) => findLine(document, lines, path)
  const plain = readPlain(document)
  if (!plain.ok) return { kind: 'wrong', problems: [{ line: 0, text: plain.text }] }
  const parsed = fileSchema.safeParse(plain.value)
  if (!parsed.success) return { kind: 'wrong', problems: parsed.error.issues.map((issue) => problemOf(issue, lineOf)) }
  const missing = [FALLBACK, OWN_HOSTS].filter((one) => parsed.data.receivers[one] === undefined)
  if (missing.length > 0)
    return { kind: 'wrong', problems: missing.map((one) => ({ line: 0, text: `receivers: there is no ${one}` })) }
  return { kind: 'shaping', shaping: shapingOf(parsed.data), lineOf }
}

/** An alias that names nothing, or too many of them, is only found when the values are taken. */
function readPlain(
  document: Document,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly text: string } {
  try {
    return { ok: true, value: document.toJS({ maxAliasCount: 50 }) }
  } catch (error) {
    return { ok: false, text: error instanceof Error ? error.message : String(error) }
  }
}

function problemOf({ path: keys, message }: z.core.$ZodIssue, lineOf: Place): Problem {
  const path = keys.filter((key) => typeof key !== 'symbol')
  return { line: lineOf(path), text: `${path.length === 0 ? 'the file' : path.join('.')}: ${message}` }
}

/** The line of a value, or of the nearest thing around it that is there. */
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
