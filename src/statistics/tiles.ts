/**
 * Chooses the stored rows that make up the intervals of a report: pure. Each event is in rows of every resolution that
 * is stored for its time, as far as minutes are rolled up (roll-up.ts), and only in minutes from then on. So the whole
 * months, weeks and days of an interval are one row each, what is left over at its ends are hours, and minutes follow.
 * A row belongs to the interval in which its period begins; a day of UTC, which is all that is stored of old mail, to
 * the one that contains its noon. No time is covered twice.
 */
import { type ResolutionName, RESOLUTION_NAMES, RESOLUTIONS } from './dimensions.ts'
import { type Division, storedSince } from './intervals.ts'
import { periodEnd, periodOf } from './periods.ts'

/** The rows of one resolution that begin in a time. */
export interface Tile {
  readonly resolution: ResolutionName
  readonly from: number
  readonly to: number
  /** They belong to the interval that contains the noon of the day they begin on. */
  readonly isByNoon: boolean
}

export interface TilesOptions {
  /** The coarsest and the finest rows. */
  readonly coarsest: ResolutionName
  readonly finest: ResolutionName
  /** Hours are stored for the whole time, if they are needed. */
  readonly isRecent: boolean
  /** Until where minutes are rolled up. */
  readonly rolledMs: number
  readonly nowMs: number
}

const { hour: HOUR, day: DAY } = RESOLUTIONS

/** Adjacent rows of one resolution are one tile. */
export function tilesOf({ starts, end }: Division, options: TilesOptions): Tile[] {
  const edges = [...starts, end].map((time) => time.getTime())
  const tiles: Tile[] = []
  const add = (tile: Tile): void => {
    const last = tiles.at(-1)
    const isAdjacent = last?.resolution === tile.resolution && last.to === tile.from && last.isByNoon === tile.isByNoon
    if (isAdjacent) tiles[tiles.length - 1] = { ...last, to: tile.to }
    else tiles.push(tile)
  }
  // where intervals begin with days of UTC, these need no hours
  const isRecent = options.isRecent || edges.every((ms) => ms % DAY.ms === 0)
  const cover = options.coarsest === 'minute' ? coverByMinutes : createCover({ ...options, isRecent })
  for (const [i, from] of edges.slice(0, -1).entries()) for (const tile of cover(from, edges[i + 1] ?? from)) add(tile)
  return tiles
}

type Cover = (from: number, to: number) => readonly Tile[]

const coverByMinutes: Cover = (from, to) => [{ resolution: 'minute', from, to, isByNoon: false }]

function createCover({ coarsest, finest, isRecent, rolledMs, nowMs }: TilesOptions): Cover {
  const [first, last] = [RESOLUTION_NAMES.indexOf(finest), RESOLUTION_NAMES.indexOf(coarsest)]
  const resolutions = RESOLUTION_NAMES.slice(first, last + 1).toReversed()
  const hoursFrom = isRecent ? -Infinity : Math.ceil(storedSince('hour', nowMs) / DAY.ms) * DAY.ms
  /** The start of the first row that belongs to an interval that begins at this time. */
  const edgeOf = (ms: number): number => {
    if (ms < hoursFrom) return Math.ceil((ms - DAY.ms / 2) / DAY.ms) * DAY.ms
    return finest === 'minute' ? ms : Math.ceil(ms / HOUR.ms) * HOUR.ms
  }
  return (from, to) => {
    const tiles: Tile[] = []
    // coarser rows have only what is rolled up, so the last one may end after the interval
    const isOpen = to >= rolledMs
    const until = isOpen ? rolledMs : edgeOf(to)
    for (let at = edgeOf(from); at < until; at = tiles.at(-1)?.to ?? until) {
      const isByNoon = at < hoursFrom
      const resolution = resolutions.find((one) => {
        if (periodOf(one, at) !== at || (isByNoon && one === 'hour')) return false
        return isOpen || periodEnd(one, at) <= until
      })
      if (resolution === undefined) throw new Error(`no rows begin at ${new Date(at).toISOString()}`)
      tiles.push({ resolution, from: at, to: periodEnd(resolution, at), isByNoon })
    }
    const minutesFrom = Math.max(from, rolledMs)
    return minutesFrom < to ? [...tiles, ...coverByMinutes(minutesFrom, to)] : tiles
  }
}
