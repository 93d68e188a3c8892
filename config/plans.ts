/**
 * The plans a workspace may be on. PLANS_FILE (JSON of the same shape) replaces or adds rows.
 * A quota counts recipients, each calendar month (UTC); null = no limit.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError } from './load.ts'

export interface Plan {
  /** Recipients accepted in a calendar month; null = unlimited. */
  readonly monthlyQuota: number | null
  /** Requests a second of one workspace, averaged over 10 s; null = unlimited. */
  readonly requestsPerSecond: number | null
  /** Sending domains of a workspace; null = unlimited. */
  readonly maxDomains: number | null
  /** Scheduling and other features that the specification keeps for LAUNCH and higher. */
  readonly isLaunch: boolean
}

const PLANS: Readonly<Record<string, Plan>> = {
  free: { monthlyQuota: 1_000_000, requestsPerSecond: 5_000, maxDomains: 100, isLaunch: false },
  launch: { monthlyQuota: 50_000_000, requestsPerSecond: 10_000, maxDomains: 1_000, isLaunch: true },
  custom: { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true },
  enterprise: { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true },
}

const NAMED = 'a plan is named in lower-case letters, digits, - and _'
const planFile = z.record(
  z.string().regex(/^[a-z][a-z0-9_-]*$/),
  z.strictObject({
    monthlyQuota: z.int('must be a whole number or null').min(0, 'must not be negative').nullable(),
    requestsPerSecond: z.number('must be a number or null').positive('must be above 0').nullable(),
    maxDomains: z.int('must be a whole number or null').min(0, 'must not be negative').nullable().default(null),
    isLaunch: z.boolean('must be true or false'),
  }),
  { error: ({ code }) => (code === 'invalid_key' ? NAMED : 'must be an object of plans') },
)

export type Plans = Readonly<Record<string, Plan>>

/**
 * The plans in force.
 * @throws ConfigError that says what is wrong with PLANS_FILE, one line for each thing.
 */
export function loadPlans(file: string | null): Plans {
  if (file === null) return PLANS
  const read = planFile.safeParse(parse(file))
  if (read.success) return { ...PLANS, ...read.data }
  const wrong = read.error.issues.map(({ path, message }) =>
    [path.join('.'), message].filter((part) => part !== '').join(': '),
  )
  throw new ConfigError(`the plans in PLANS_FILE (${file}) are wrong:\n  ${wrong.join('\n  ')}`)
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ConfigError(`PLANS_FILE cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
