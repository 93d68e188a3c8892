/**
 * The plans a workspace may be on. PLANS_FILE (JSON of the same shape) replaces or adds rows.
 * A quota counts recipients, each calendar month (UTC); null = no limit.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

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
  free:       { monthlyQuota: 1_000_000, requestsPerSecond: 5_000, maxDomains: 100, isLaunch: false },
  launch:     { monthlyQuota: 50_000_000, requestsPerSecond: 10_000, maxDomains: 1_000, isLaunch: true },
  custom:     { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true },
  enterprise: { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true },
}

const planFile = z.record(z.string(), z.object({
  monthlyQuota: z.number().int().min(0).nullable(),
  requestsPerSecond: z.number().positive().nullable(),
  maxDomains: z.number().int().min(0).nullable().default(null),
  isLaunch: z.boolean(),
}))

export type Plans = Readonly<Record<string, Plan>>

/**
 * The plans in force.
 * @throws when PLANS_FILE cannot be read or has another shape.
 */
export function loadPlans(file: string | null): Plans {
  if (file === null) return PLANS
  return { ...PLANS, ...planFile.parse(JSON.parse(readFileSync(file, 'utf8'))) }
}
