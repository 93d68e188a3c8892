/**
 * The plans of workspaces. PLANS_FILE (JSON of the same shape) replaces or adds rows.
 * A quota counts recipients per calendar month (UTC); null = no limit.
 */
import { z } from 'zod'
import { ConfigError } from './load.ts'
import { readSettingText } from './setting-file.ts'

export interface Plan {
  /** Recipients accepted in a calendar month; null = unlimited. */
  readonly monthlyQuota: number | null
  /** Requests per second of one workspace, averaged over 10 s; null = unlimited. */
  readonly requestsPerSecond: number | null
  /** Sending domains of a workspace; null = unlimited. */
  readonly maxDomains: number | null
  /** Whether the plan has scheduling and the other features that need LAUNCH or higher. */
  readonly isLaunch: boolean
  /** Whether an owner of a workspace with this plan may create further workspaces, on DEFAULT_PLAN. */
  readonly mayCreateWorkspaces?: boolean
}

const PLANS: Readonly<Record<string, Plan>> = {
  free: { monthlyQuota: 1_000_000, requestsPerSecond: 5_000, maxDomains: 100, isLaunch: false },
  launch: { monthlyQuota: 50_000_000, requestsPerSecond: 10_000, maxDomains: 1_000, isLaunch: true },
  custom: { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true, mayCreateWorkspaces: true },
  enterprise: {
    monthlyQuota: null,
    requestsPerSecond: null,
    maxDomains: null,
    isLaunch: true,
    mayCreateWorkspaces: true,
  },
}

const INVALID_NAME = 'a plan name consists of lower-case letters, digits, - and _, and starts with a letter'
const planFile = z.record(
  z.string().regex(/^[a-z][a-z0-9_-]*$/),
  z.strictObject({
    monthlyQuota: z.int('must be a whole number or null').min(0, 'must not be negative').nullable(),
    requestsPerSecond: z.number('must be a number or null').positive('must be above 0').nullable(),
    maxDomains: z.int('must be a whole number or null').min(0, 'must not be negative').nullable().default(null),
    isLaunch: z.boolean('must be true or false'),
    mayCreateWorkspaces: z.boolean('must be true or false').default(false),
  }),
  { error: ({ code }) => (code === 'invalid_key' ? INVALID_NAME : 'must be a JSON object with one plan per name') },
)

export type Plans = Readonly<Record<string, Plan>>

/**
 * The built-in plans, with those of PLANS_FILE in their place.
 * @throws ConfigError that lists every problem with PLANS_FILE, one per line.
 */
export function loadPlans(file: string | null): Plans {
  if (file === null) return PLANS
  const read = planFile.safeParse(parse(file))
  if (read.success) return { ...PLANS, ...read.data }
  const problems = read.error.issues.map(({ path, message }) =>
    [path.join('.'), message].filter((part) => part !== '').join(': '),
  )
  throw new ConfigError(`PLANS_FILE (${file}) is invalid:\n  ${problems.join('\n  ')}`)
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readSettingText(file))
  } catch (error) {
    throw new ConfigError(`PLANS_FILE cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
