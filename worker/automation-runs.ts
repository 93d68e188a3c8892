/**
 * Takes contacts through their automations when their time comes: woken by Redis when somebody was enrolled, joined an audience or had an
 * event, by a timer set to the next one that is due, and every second in any case, so that Redis may be away. Any number of workers share
 * the work; two slices are under way at a time, so that one waits for PostgreSQL while the other is prepared. Stopping waits for these.
 */
import { loadPlans } from '#config/plans.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { findNextDue, listWorkspacesWithAudienceTriggers } from '#src/automations/due-enrolments.ts'
import { enrolAudienceMembers } from '#src/automations/date-triggers.ts'
import { runSlice, type RunDeps } from '#src/automations/run.ts'
import type { Context } from '#src/context.ts'
import { AUTOMATIONS_CHANNEL, EVENTS_CHANNEL } from '#src/queue/keys.ts'
import { subscribeToChannels } from '#src/stores/redis.ts'
import type { Loop } from './loop.ts'

const SWEEP_MS = 1000
/** A look costs a probe for each active automation: a shower of events becomes a few. */
const SPACING_MS = 100
const RETRY_MS = 500
/** Until those are looked at again who are due and were not taken: somebody else holds them. */
const CLAIMED_ELSEWHERE_MS = 100
/** Between looks that events of a workspace cause where joining an audience begins something: most of its events are of other things. */
const JOIN_DELAY_MS = 200
const CONCURRENT_SLICES = 2

export function startAutomations(ctx: Context, redisUrl: string): Loop {
  const parts: RunDeps = { ctx, plans: loadPlans(ctx.config.plansFile), isStopping: () => isStopped }
  const runner = createDebouncedRunner(round, SPACING_MS)
  let isStopped = false
  /** Workspaces where joining an audience begins something: their events wake us. */
  let joined: ReadonlySet<string> = new Set()

  async function round(): Promise<void> {
    runner.schedule(SWEEP_MS)
    try {
      await Promise.all(Array.from({ length: CONCURRENT_SLICES }, () => runUntilNobodyIsDue()))
      joined = await listWorkspacesWithAudienceTriggers(ctx.db)
      const next = await findNextDue(ctx.db)
      const inMs = (next?.getTime() ?? Infinity) - ctx.clock.now()
      if (inMs < SWEEP_MS) runner.schedule(inMs > 0 ? inMs + 1 : CLAIMED_ELSEWHERE_MS)
    } catch (error) {
      ctx.log.warn({ err: error }, 'automations could not be taken further; it is tried again')
      runner.schedule(RETRY_MS)
    }
  }

  async function runUntilNobodyIsDue(): Promise<void> {
    for (let isMore = true; isMore && !isStopped;) {
      const isEnrolling = await enrolAudienceMembers(ctx)
      isMore = (await runSlice(parts)) > 0 || isEnrolling
    }
  }

  const subscriber = subscribeToChannels(redisUrl, ctx.log, [AUTOMATIONS_CHANNEL, EVENTS_CHANNEL], {
    onMessage: (channel, workspaces) => {
      if (channel === AUTOMATIONS_CHANNEL) runner.schedule(0)
      else if (workspaces.split(',').some((id) => joined.has(id))) runner.schedule(JOIN_DELAY_MS)
    },
    onSubscribed: () => runner.schedule(0),
  })
  runner.schedule(0)
  return {
    stop: async () => {
      isStopped = true
      subscriber.disconnect()
      await runner.stop()
    },
  }
}
