/**
 * Makes the calls of webhook steps: claims those that are due, posts them lane by lane, writes down what came of them. A host that does not
 * answer soon holds one slot. Any number of workers share the table.
 *
 * Dies: the lease runs out and the call is made again, with the same id. PostgreSQL away: nothing is claimed, and what could not be written
 * down comes again. Stopping waits 3 s for what is under way; what is not done by then is given back, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { claimCalls, LEASE_MS, makeCall, releaseCalls, settleCalls, TIMEOUT_MS, type Call, type Told } from '#src/automations/calls.ts'
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { createOutgoing } from '#src/outgoing.ts'
import { Lanes, type Pace } from '#src/webhooks/lanes.ts'
import { createAlarm } from './alarm.ts'
import type { Loop } from './loop.ts'

const BOUNDS = { slots: 256, firstWindow: 8, maxWindow: 64 }
const EACH = 2 * BOUNDS.firstWindow
/** A call carries a contact, up to some 80 KB. */
const MAX_CLAIM = 250
const MAX_HELD = 2 * BOUNDS.slots
const SETTLE = { max: 250, lanes: 1 }
/** Between looks; calls of a step that was just taken go out within it. */
const SWEEP_MS = 500
const SPACING_MS = 20
const QUICK_MS = 1000
const GRACE_MS = 3000
const ABORT_MS = 500
/** After this a held call is not begun: its lease must outlast the try and its settling. */
const STALE_MS = LEASE_MS - TIMEOUT_MS - 15_000

interface Held {
  readonly call: Call
  readonly staleAt: number
}

export function startAutomationCalls(ctx: Context): Loop {
  const means = { clock: ctx.clock, config: ctx.config, outgoing: createOutgoing(ctx.config) }
  const underWay = new Set<Call>()
  const settler = createBatcher<Told, null>(async (told) => {
    await settleCalls(ctx.db, told)
    return told.map(() => null)
  }, SETTLE)
  const alarm = createAlarm(round, SPACING_MS)
  const lanes = new Lanes<Held>(BOUNDS, { run: carryOut, onHungry: (lane) => { if (isHeldBack || unfinished.has(lane)) alarm.set(0) } })
  let unfinished: ReadonlySet<string> = new Set()
  let isHeldBack = false
  let isAborted = false

  async function round(): Promise<void> {
    alarm.set(SWEEP_MS)
    const total = Math.min(MAX_CLAIM, MAX_HELD - lanes.held)
    isHeldBack = total <= 0
    if (isHeldBack) return
    const staleAt = performance.now() + STALE_MS
    try {
      const calls = await claimCalls(ctx.db, { total, each: EACH, lanes: lanes.rooms() }, ctx.clock.now())
      unfinished = fullLanes(calls)
      for (const call of calls) lanes.add(call.lane, { call, staleAt })
    } catch (error) {
      ctx.log.warn({ err: error }, 'calls of automations could not be claimed; it is tried again')
    }
  }

  async function carryOut({ call, staleAt }: Held): Promise<Pace> {
    // its lease runs out soon; it is claimed again then
    if (performance.now() > staleAt) return 'slow'
    underWay.add(call)
    const told = await makeCall(means, call)
    if (isAborted && told.state !== 'delivered') return 'bad'
    await settler.add(told).catch((error: unknown) => {
      ctx.log.warn({ err: error, call: call.id }, 'a call of an automation was made and could not be settled; it comes again')
    })
    underWay.delete(call)
    return told.state !== 'delivered' ? 'bad' : told.durationMs <= QUICK_MS ? 'quick' : 'slow'
  }

  alarm.set(0)
  return {
    stop: async () => {
      await alarm.stop()
      const waiting = lanes.clear().map(({ call }) => call)
      await Promise.race([lanes.idle(), sleep(GRACE_MS, undefined, { ref: false })])
      isAborted = true
      means.outgoing.close()
      await Promise.race([lanes.idle(), sleep(ABORT_MS)])
      await releaseCalls(ctx.db, [...waiting, ...underWay]).catch((error: unknown) => {
        ctx.log.warn({ err: error }, 'calls of automations could not be given back; their lease runs out')
      })
    },
  }
}

/** Lanes that got all they had room for, and may have more. */
function fullLanes(calls: readonly Call[]): Set<string> {
  const counts = new Map<string, number>()
  for (const { lane } of calls) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  return new Set(calls.filter(({ lane, room }) => counts.get(lane) === room).map(({ lane }) => lane))
}
