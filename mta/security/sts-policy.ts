/**
 * Parses MTA-STS records and policy files (RFC 8461 3). Pure. Anything that deviates from the standard is no policy:
 * the data comes from third parties, and half a policy protects nobody.
 */
export interface StsPolicy {
  /** The id of the TXT record that announced it. */
  readonly id: string
  readonly mode: 'enforce' | 'testing' | 'none'
  /** Host names in lower case; a leading `*.` stands for one label. */
  readonly mx: readonly string[]
  readonly maxAgeSeconds: number
}

/** The parsed policy file, or its problem. */
export type StsPolicyResult = Omit<StsPolicy, 'id'> | { readonly problem: string }

/** RFC 8461 3.2: a year. */
const MAX_AGE_SECONDS = 31_557_600
/** Limit of `mx` patterns. */
const MAX_PATTERNS = 200
const RECORD = /^v=STSv1(?:[ \t]*;|[ \t]*$)/
const ID = /^[A-Za-z0-9]{1,32}$/
const PATTERN = /^(\*\.)?(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$/
const MODES = ['enforce', 'testing', 'none'] as const

/** The policy id; null if no record or more than one announces a policy (RFC 8461 3.1). */
export function readStsRecord(records: readonly string[]): string | null {
  const [record, second] = records.filter((text) => RECORD.test(text))
  if (record === undefined || second !== undefined) return null
  const ids = record
    .split(';')
    .map((field) => field.trim())
    .filter((field) => field.startsWith('id='))
    .map((field) => field.slice(3))
  return ids.length === 1 && ID.test(ids[0] ?? '') ? (ids[0] ?? null) : null
}

export function readStsPolicy(text: string): StsPolicyResult {
  const fields = text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map(splitField)
  const of = (name: string): string[] => fields.filter((field) => field[0] === name).map((field) => field[1])
  if (of('version')[0] !== 'STSv1') return { problem: 'the version is not STSv1' }
  // the first of a repeated field counts (RFC 8461 3.2)
  const mode = MODES.find((known) => known === of('mode')[0])
  if (mode === undefined) return { problem: 'the mode is missing or unknown' }
  const age = of('max_age')[0] ?? ''
  if (!/^\d{1,10}$/.test(age)) return { problem: 'max_age is missing or invalid' }
  const mx = of('mx').map((pattern) => pattern.toLowerCase().replace(/\.$/, ''))
  if (mx.length > MAX_PATTERNS) return { problem: `it lists more than ${MAX_PATTERNS} hosts` }
  if (!mx.every((pattern) => PATTERN.test(pattern))) return { problem: 'an mx is not a host name' }
  if (mx.length === 0 && mode !== 'none') return { problem: 'it lists no mx' }
  return { mode, mx, maxAgeSeconds: Math.min(Number(age), MAX_AGE_SECONDS) }
}

/** Whether the policy lists a host; `*.` stands for exactly one label (RFC 8461 4.1). */
export function isMxOf({ mx }: Pick<StsPolicy, 'mx'>, host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  const parent = name.includes('.') ? name.slice(name.indexOf('.') + 1) : ''
  return mx.some((pattern) => (pattern.startsWith('*.') ? parent === pattern.slice(2) : name === pattern))
}

function splitField(line: string): readonly [string, string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
}
