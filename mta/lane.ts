/**
 * A lane: what this process does for one site. It claims for the site as a whole; what it claimed waits on a track for each source. Pure
 * bookkeeping, as tracks are.
 */
import type { Pace } from '#mta/limits/pace.ts'
import { MOST_HELD, Track, type News, type Room } from './track.ts'
import type { Waiting } from './waiting.ts'

/** Claimed of a site that is not known yet: enough to learn where its mail goes. */
const FIRST_ROOM: Room = { instant: 10, others: 10 }
/** Claimed now and then where all tracks have enough: it may be of a source that has none yet. */
const LOOK_ROOM: Room = { instant: 50, others: 50 }
const LOOK_MS = 1000
const MOST_INSTANT = 100
/** After a claim of which nothing could be kept; doubled each time. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000

export class Lane implements News {
  readonly site: string
  /** By source. */
  readonly tracks = new Map<string | null, Track>()
  /** Called when more may begin on a track, or nothing may any more. */
  onChange: (track: Track) => void = () => undefined
  /** Counts wake-ups: a claim that was overtaken by one is not the last word. */
  wakes = 0
  hasInstantNews = true
  isClaiming = false
  /** The last claim got all there was. */
  isDry = false
  usedAtMs = 0
  pausedUntilMs = 0
  /** It is looked at again when its pause is over. */
  isWaking = false
  /** How many sources there are that its mail may leave by; those without a track may have mail here too. */
  sources: () => number = () => 1
  #pauseMs = 0
  #lookedAtMs = 0

  constructor(site: string) {
    this.site = site
  }

  /** Made where there is none yet, so that its pace is known to be in use. */
  trackOf(source: string | null, pace: Pace): Track {
    const known = this.tracks.get(source)
    if (known !== undefined) {
      known.pace = pace
      return known
    }
    const track = new Track(this, source, pace)
    track.onChange = () => this.onChange(track)
    this.tracks.set(source, track)
    return track
  }

  get active(): number {
    return this.#sum((track) => track.active)
  }

  get held(): number {
    return this.#sum((track) => track.held)
  }

  get isIdle(): boolean {
    return this.active === 0 && this.held === 0 && !this.isClaiming
  }

  /** How many more to claim; `nowMs` is of `performance.now()`. */
  room(nowMs: number): Room {
    if (this.tracks.size === 0) return FIRST_ROOM
    let [instant, others, known] = [0, 0, 0]
    for (const track of this.tracks.values()) {
      const room = track.room()
      if (track.source !== null) known++
      instant += room.instant
      others += room.others
    }
    if (known < this.sources() && known > 0 && others === 0 && nowMs - this.#lookedAtMs >= LOOK_MS) {
      this.#lookedAtMs = nowMs
      return LOOK_ROOM
    }
    const isPaused = nowMs < this.pausedUntilMs
    return {
      instant: isPaused && !this.hasInstantNews ? 0 : Math.min(instant, MOST_INSTANT),
      others: isPaused ? 0 : Math.min(others, MOST_HELD),
    }
  }

  /** What came of a claim: where all of it is of sources that have enough, the next one waits. */
  claimed(kept: number, nowMs: number): void {
    this.#pauseMs = kept > 0 ? 0 : Math.min(Math.max(this.#pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    this.pausedUntilMs = nowMs + this.#pauseMs
  }

  /** Takes everything out that has not begun. */
  empty(): Waiting[] {
    return [...this.tracks.values()].flatMap((track) => track.empty())
  }

  /** There is something to claim, and no room for it. */
  need(): void {
    for (const track of this.tracks.values()) track.pace.onNeed()
  }

  /** Lets go of tracks of several that nothing went by since. */
  forget(sinceMs: number): void {
    for (const [source, track] of this.tracks) {
      if (this.tracks.size === 1 || !track.isIdle || track.pace.isSuspended || track.usedAtMs >= sinceMs) continue
      track.close()
      this.tracks.delete(source)
    }
  }

  #sum(of: (track: Track) => number): number {
    let sum = 0
    for (const track of this.tracks.values()) sum += of(track)
    return sum
  }
}
