/**
 * MTA-STS as it is written (RFC 8461 3): the TXT record that says there is a policy, and the policy file. Pure.
 * What is not exactly as the standard has it is no policy: it comes from strangers, and half a policy protects nobody.
 */
export interface StsPolicy {
  /** Of the TXT record that led to it. */
  readonly id: string
  readonly mode: 'enforce' | 'testing' | 'none'
  /** Host names in lower case, perhaps with `*.` in front for one label. */
  readonly mx: readonly string[]
  readonly maxAgeSeconds: number
}

/** What a policy file says, or in words what is wrong with it. */
export type StsPolicyResult = Omit<StsPolicy, 'id'> | { readonly problem: string }

/** RFC 8461 3.2: a year. */
const MAX_AGE_SECONDS = 31_557_600
/** A domain with more hosts than this has other troubles. */
const MAX_PATTERNS = 200
const RECORD = /^v=STSv1(?:[ \t]*;|[ \t]*$)/
const ID = /^[A-Za-z0-9]{1,32}$/
const PATTERN = /^(\*\.)?(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$/
const MODES = ['enforce', 'testing', 'none'] as const

/** The id of the policy; null where there is none, or where more than one record says so (RFC 8461 3.1). */
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
  if (of('version')[0] !== 'STSv1') return { problem: 'it is not of version STSv1' }
  // the first of a doubled field counts (RFC 8461 3.2)
  const mode = MODES.find((known) => known === of('mode')[0])
  if (mode === undefined) return { problem: 'it has no mode' }
  const age = of('max_age')[0] ?? ''
  if (!/^\d{1,10}$/.test(age)) return { problem: 'it has no max_age' }
  const mx = of('mx').map((pattern) => pattern.toLowerCase().replace(/\.$/, ''))
  if (mx.length > MAX_PATTERNS) return { problem: `it names more than ${MAX_PATTERNS} hosts` }
  if (!mx.every((pattern) => PATTERN.test(pattern))) return { problem: 'it has an mx that is no host name' }
  if (mx.length === 0 && mode !== 'none') return { problem: 'it names no mx' }
  return { mode, mx, maxAgeSeconds: Math.min(Number(age), MAX_AGE_SECONDS) }
}

/** Whether a host may take the domain's mail; `*.` stands for exactly one label (RFC 8461 4.1). */
export function isMxOf({ mx }: Pick<StsPolicy, 'mx'>, host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  const parent = name.includes('.') ? name.slice(name.indexOf('.') + 1) : ''
  return mx.some((pattern) => (pattern.startsWith('*.') ? parent === pattern.slice(2) : name === pattern))
}

function splitField(line: string): readonly [string, string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
}
