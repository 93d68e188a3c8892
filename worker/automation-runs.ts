/**
 * Takes contacts through their automations when their time comes: woken by Redis when somebody was enrolled, joined an audience or had an
 * event, by a timer set to the next one that is due, and every second in any case, so that Redis may be away. Any number of workers share
 * the work; two slices are under way at a time, so that one waits for PostgreSQL while the other is prepared. Stopping waits for these.
 */
import { loadPlans } from '#config/plans.ts'
import { createAlarm } from '#src/concurrency/debounced-runner.ts'
import { findNextDue, listJoined } from '#src/automations/due.ts'
import { enrolMembers } from '#src/automations/date-triggers.ts'
import { runSlice, type RunParts } from '#src/automations/run.ts'
import type { Context } from '#src/context.ts'
import { AUTOMATIONS_CHANNEL, EVENTS_CHANNEL } from '#src/queue/keys.ts'
import { listenTo } from '#src/stores/redis.ts'
import type { Loop } from './loop.ts'

const SWEEP_MS = 1000
/** A look costs a probe for each active automation: a shower of events becomes a few. */
const SPACING_MS = 100
const AWAY_MS = 500
/** Until those are looked at again who are due and were not taken: somebody else holds them. */
const HELD_MS = 100
/** Between looks that events of a workspace cause where joining an audience begins something: most of its events are of other things. */
const GATHER_MS = 200
const AT_ONCE = 2

export function startAutomations(ctx: Context, redisUrl: string): Loop {
  const parts: RunParts = { ctx, plans: loadPlans(ctx.config.plansFile), isStopping: () => isStopped }
  const alarm = createAlarm(round, SPACING_MS)
  let isStopped = false
  /** Workspaces where joining an audience begins something: their events wake us. */
  let joined: ReadonlySet<string> = new Set()

  async function round(): Promise<void> {
    alarm.set(SWEEP_MS)
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, () => runUntilNobodyIsDue()))
      joined = await listJoined(ctx.db)
      const next = await findNextDue(ctx.db)
      const inMs = (next?.getTime() ?? Infinity) - ctx.clock.now()
      if (inMs < SWEEP_MS) alarm.set(inMs > 0 ? inMs + 1 : HELD_MS)
    } catch (error) {
      ctx.log.warn({ err: error }, 'automations could not be taken further; it is tried again')
      alarm.set(AWAY_MS)
    }
  }

  async function runUntilNobodyIsDue(): Promise<void> {
    for (let isMore = true; isMore && !isStopped;) {
      const isEnrolling = await enrolMembers(ctx)
      isMore = (await runSlice(parts)) > 0 || isEnrolling
    }
  }

  const subscriber = listenTo(redisUrl, ctx.log, [AUTOMATIONS_CHANNEL, EVENTS_CHANNEL], {
    heard: (channel, workspaces) => {
      if (channel === AUTOMATIONS_CHANNEL) alarm.set(0)
      else if (workspaces.split(',').some((id) => joined.has(id))) alarm.set(GATHER_MS)
    },
    isListening: () => alarm.set(0),
  })
  alarm.set(0)
  return {
    stop: async () => {
      isStopped = true
      subscriber.disconnect()
      await alarm.stop()
    },
  }
}
