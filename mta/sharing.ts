/**
 * The sessions of the process, shared between sites: some are always left for sites that have none, however many others hang. On a busy
 * process a site is given more as it finishes what it has, never more than a part of what is free, and none of the last tenth unless it has
 * nothing under way. A tenth on top is for instant mail only: a process that is full of bulk still has room for a code.
 */
import type { Lane } from './lane.ts'
import type { State } from './lane-state.ts'
import type { Track } from './track.ts'

/** Of the sessions that are free, the part that one site may take. */
const FREE_SHARE = 0.25
/** Of all sessions: while so many are free nobody must prove anything. */
const AMPLE_SHARE = 0.8
/** Lanes that are looked at when one session comes free. */
const MOST_FED = 20
/** Of all sessions: the last ones, and those on top for instant mail. */
const KEPT_SHARE = 0.1

/** Whether one more may be begun on a track. What hangs by one source is not held against the site's others. */
export function hasSession(state: State, lane: Lane, track: Track): boolean {
  if (state.parts.isBehind()) return false
  const most = state.ctx.config.outboundSessions
  const free = most - state.active
  if (track.active === 0 && free > 0) return true
  const isProven = track.active < track.window || free > AMPLE_SHARE * most
  if (isProven && lane.active < FREE_SHARE * free && free > KEPT_SHARE * most) return true
  return (
    track.hasInstant &&
    track.activeInstant < track.window &&
    track.activeInstant < FREE_SHARE * (free + KEPT_SHARE * most)
  )
}

/** A session came free: those that found none go on. */
export function feedStarved(state: State): void {
  let left = MOST_FED
  for (const lane of state.starved) {
    if (left-- === 0 || state.active >= state.ctx.config.outboundSessions * (1 + KEPT_SHARE)) return
    // pumped in vain it comes behind the others
    state.starved.delete(lane)
    state.pump(lane)
  }
}
