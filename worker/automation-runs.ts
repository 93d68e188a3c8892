/**
 * Advances contacts through their automations when they are due. Redis wakes the loop when a contact is enrolled, joins
 * an audience or has an event; a timer wakes it for the next due contact; and it runs every second in any case, so that
 * Redis may be unavailable. Any number of workers share the work. Two slices run concurrently, so that one is prepared
 * while the other waits for PostgreSQL. Stopping waits for both.
 */
import { loadPlans } from '#config/plans.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import { findNextDue, listWorkspacesWithAudienceTriggers } from '#src/automations/due-enrolments.ts'
import { enrolAudienceMembers } from '#src/automations/date-triggers.ts'
import { runSlice, type RunDeps } from '#src/automations/run.ts'
import type { Context } from '#src/context.ts'
import { findDeadLinks } from '#src/going-live/public-urls.ts'
import { AUTOMATIONS_CHANNEL, EVENTS_CHANNEL } from '#src/queue/keys.ts'
import { subscribeToChannels } from '#src/stores/redis.ts'
import type { Loop } from './loop.ts'

const SWEEP_MS = 1000
/** A round costs one index probe per active automation: a burst of events causes a few rounds. */
const SPACING_MS = 100
const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 5000
/** The delay after a round that left due contacts, because another process holds them. */
const CLAIMED_ELSEWHERE_MS = 100
/** The delay after events of a workspace in which joining an audience starts an automation: most events are others. */
const JOIN_DELAY_MS = 200
const CONCURRENT_SLICES = 2

export function startAutomations(ctx: Context, redisUrl: string): Loop {
  const parts: RunDeps = { ctx, plans: loadPlans(ctx.config.plansFile), isStopping: () => isStopped }
  const runner = createDebouncedRunner(round, SPACING_MS)
  const backoff = createFailureBackoff(ctx.log, {
    message: 'automation round failed; it is retried',
    firstMs: FIRST_RETRY_MS,
    longestMs: LONGEST_RETRY_MS,
  })
  // mail of automations has unsubscribe links too; the settings are read at the start only (notice: worker/notices.ts)
  const dead = findDeadLinks(ctx.config)
  if (dead !== null) ctx.log.warn(`automations stop, because links in mail lead nowhere: ${dead.detail}; ${dead.todo}`)
  let isStopped = false
  /** Workspaces in which joining an audience starts an automation: their events wake this loop. */
  let joined: ReadonlySet<string> = new Set()

  async function round(): Promise<void> {
    runner.schedule(SWEEP_MS)
    try {
      // most rounds find nothing
      if (await runOnce()) await Promise.all(Array.from({ length: CONCURRENT_SLICES }, () => runUntilNobodyIsDue()))
      backoff.succeeded()
      joined = await listWorkspacesWithAudienceTriggers(ctx.db)
      const next = await findNextDue(ctx.db)
      const inMs = (next?.getTime() ?? Infinity) - ctx.clock.now()
      if (inMs < SWEEP_MS) runner.schedule(inMs > 0 ? inMs + 1 : CLAIMED_ELSEWHERE_MS)
    } catch (error) {
      runner.schedule(backoff.failed(error))
    }
  }

  async function runUntilNobodyIsDue(): Promise<void> {
    while (await runOnce());
  }

  /** Whether more may be due. */
  async function runOnce(): Promise<boolean> {
    if (dead !== null || isStopped) return false
    const isEnrolling = await enrolAudienceMembers(ctx)
    return (await runSlice(parts)) > 0 || isEnrolling
  }

  const runNow = (): void => runner.schedule(0)
  const runIfJoined = (workspaces: string): void => {
    if (workspaces.split(',').some((id) => joined.has(id))) runner.schedule(JOIN_DELAY_MS)
  }
  const handlers = { [AUTOMATIONS_CHANNEL]: runNow, [EVENTS_CHANNEL]: runIfJoined }
  const subscriber = subscribeToChannels(redisUrl, ctx.log, handlers, runNow)
  runner.schedule(0)
  return {
    stop: async () => {
      isStopped = true
      subscriber.disconnect()
      await runner.stop()
    },
  }
}
