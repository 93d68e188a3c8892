/**
 * API features as header fields: X-Priority-Tier, X-Tag, X-Metadata, X-Idempotency-Key, X-Template-Id, X-Params,
 * X-Track-Opens, X-Track-Clicks. They are parsed here and removed from the message. A value that cannot be parsed is
 * refused with its reason, never ignored, because the client expects it to have an effect.
 */
import { decodeHeaderText } from '#src/mail/header-text.ts'
import type { Submission } from '#src/messages/submission.ts'
import { TIER_ALIASES, tierOf } from '#src/queue/tier-aliases.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { contentError } from './submission-error.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

export interface MailOptions {
  readonly tier: Tier
  readonly tags: readonly string[]
  readonly metadata: Submission['metadata']
  readonly idempotencyKey: string | null
  readonly templateId: string | null
  readonly trackOpens: boolean
  readonly trackClicks: boolean
  /** Parameters of the template. */
  readonly params: Readonly<Record<string, unknown>>
}

type Metadata = NonNullable<Submission['metadata']>
type OptionsDraft = { -readonly [K in keyof MailOptions]: MailOptions[K] }

const MAX_TAGS = 50
const MAX_NAME = 128
const MAX_METADATA = 100
const MAX_TEXT = 2000
const MAX_KEY = 256

/** Each stores a value in the options and returns the problem, or null. */
const READERS: Readonly<Record<string, (options: OptionsDraft, value: string) => string | null>> = {
  'x-priority-tier': readTier,
  'x-tag': readTags,
  'x-metadata': readMetadata,
  'x-idempotency-key': readKey,
  'x-template-id': (options, value) => {
    options.templateId = value
    return value === '' ? 'is empty' : null
  },
  'x-track-opens': flagReader('trackOpens'),
  'x-track-clicks': flagReader('trackClicks'),
  'x-params': readParams,
  'x-template-data': readParams,
}

/** Fields that may appear once; the values of the others add up. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set([
  'x-priority-tier',
  'x-idempotency-key',
  'x-template-id',
  'x-track-opens',
  'x-track-clicks',
])

export function isOption(name: string): boolean {
  return Object.hasOwn(READERS, name)
}

/** @throws SubmissionError that names the field and the problem. */
export function readOptions(fields: readonly { readonly name: string; readonly line: string }[]): MailOptions {
  const options: OptionsDraft = {
    tier: 'normal',
    tags: [],
    metadata: null,
    idempotencyKey: null,
    templateId: null,
    trackOpens: false,
    trackClicks: false,
    params: {},
  }
  const seen = new Map<string, string>()
  for (const { name, line } of fields) {
    if (!isOption(name)) continue
    const text = textOf(name, line)
    const before = seen.get(name) ?? text
    seen.set(name, text)
    const problem =
      SINGLE_FIELDS.has(name) && before !== text
        ? 'appears twice with different values'
        : (READERS[name]?.(options, text) ?? null)
    if (problem !== null) throw contentError(`${name}: ${problem}`)
  }
  return options
}

/** Decodes a value; JSON may be longer than other fields, because there may be many parameters. */
function textOf(name: string, line: string): string {
  const value = line.slice(line.indexOf(':') + 1)
  const isJson = name !== 'x-tag' && name !== 'x-priority-tier' && /^\s*[{[]/.test(value)
  return isJson ? Buffer.from(value.replaceAll(/\r?\n/g, ''), 'latin1').toString().trim() : decodeHeaderText(value)
}

function readTier(options: OptionsDraft, value: string): string | null {
  const tier = tierOf(value)
  if (tier === null) return oneOfText(TIER_ALIASES, value)
  options.tier = tier
  return null
}

/** Accepted spellings of yes and no. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...['yes', 'true', 'on', '1'].map((word) => [word, true] as const),
  ...['no', 'false', 'off', '0'].map((word) => [word, false] as const),
])

function flagReader(field: 'trackOpens' | 'trackClicks'): (options: OptionsDraft, value: string) => string | null {
  return (options, value) => {
    const flag = FLAGS.get(value.trim().toLowerCase())
    if (flag === undefined) return 'must be yes or no'
    options[field] = flag
    return null
  }
}

/** One field for each tag, or several tags separated by commas. */
function readTags(options: OptionsDraft, value: string): string | null {
  const tags = value
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
  if (tags.some((tag) => tag.length > MAX_NAME)) return `a tag has at most ${MAX_NAME} characters`
  options.tags = [...new Set([...options.tags, ...tags])]
  return options.tags.length > MAX_TAGS ? `at most ${MAX_TAGS} tags` : null
}

/** A JSON object, or `name=value` separated by commas or semicolons; several fields add up. */
function readMetadata(options: OptionsDraft, value: string): string | null {
  const read = value.startsWith('{') ? readObject(value) : readPairs(value)
  if (read === null) return 'must be a JSON object or name=value, ...'
  const entries = Object.entries(read)
  if (entries.some(([name]) => name === '' || name.length > MAX_NAME)) return `a name has 1 to ${MAX_NAME} characters`
  if (!entries.every(([, one]) => isPlain(one)))
    return `must be flat: texts of at most ${MAX_TEXT} characters, numbers, true, false and null`
  options.metadata = { ...options.metadata, ...(read as Metadata) }
  return Object.keys(options.metadata).length > MAX_METADATA ? `at most ${MAX_METADATA} entries` : null
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= MAX_TEXT && !value.includes('\0')
  return value === null || typeof value === 'boolean' || Number.isFinite(value)
}

function readPairs(value: string): Record<string, unknown> | null {
  const pairs = value
    .split(/[,;]/)
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
  if (pairs.some((pair) => !pair.includes('='))) return null
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')).trim(), pair.slice(pair.indexOf('=') + 1).trim()]),
  )
}

function readObject(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

function readKey(options: OptionsDraft, value: string): string | null {
  options.idempotencyKey = value
  return value === '' || value.length > MAX_KEY ? `has 1 to ${MAX_KEY} characters` : null
}

function readParams(options: OptionsDraft, value: string): string | null {
  const params = readObject(value)
  if (params === null) return 'must be a JSON object'
  options.params = { ...options.params, ...params }
  return null
}
