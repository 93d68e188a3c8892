/** The context of every part of submission: that of the process, and the services that its start builds. */
import type { Plan, Plans } from '#config/plans.ts'
import type { Keyring } from '#src/auth/keys.ts'
import type { Context } from '#src/context.ts'
import type { AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import type { RequestRateLimiter } from '#src/rate-limits/request-rate.ts'
import type { Acceptor } from '#src/messages/accept.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import type { MessageMemory } from './message-bytes.ts'
import type { Relays } from './relays.ts'

export interface SubmissionContext extends Context {
  readonly plans: Plans
  readonly keyring: Keyring
  readonly acceptor: Acceptor
  readonly rate: RequestRateLimiter
  readonly attempts: AttemptLimiter
  readonly relays: Relays
  readonly renderer: Renderer
  readonly memory: MessageMemory
  readonly metrics: MetricRegistry
}

/**
 * Returns the plan by name. A name that the configuration does not know gets the smallest plan, never an unlimited one.
 */
export function planOf({ plans }: Pick<SubmissionContext, 'plans'>, name: string): Plan {
  const plan = plans[name] ?? plans['free']
  if (plan === undefined) throw new Error('no plan named "free" exists')
  return plan
}
