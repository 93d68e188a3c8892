/**
 * Room for connections within a pace: nobody connects before the pace has room for one more, and a connection has its room until its socket
 * is closed, idle or saying QUIT too: what the receiver counts is what is counted here. An idle connection to another site of the same
 * receiver makes way for one that is needed. A site that just came back from the dead gets its connections a few at a time.
 *
 * The pace is shut while somebody waits for room: he is told, and nothing came of it.
 */
import type { Pace } from '#mta/limits/pace.ts'
import type { Session } from '#mta/smtp/session.ts'
import type { Pooled, SessionPool } from './session-pool.ts'

export type Room =
  /** A connection came free meanwhile. */
  | { readonly kind: 'open'; readonly pooled: Pooled }
  | NewRoom

/** Room for one new connection; one of these must follow. */
interface NewRoom {
  readonly kind: 'new'
  /** It was opened: the room is its own until it is closed. */
  fill(pooled: Pooled): void
  /** It was not tried. */
  giveBack(): void
  /** It was tried, and is closed again. */
  close(): void
}

interface Place {
  readonly site: string
  readonly pace: Pace
}

export interface Rooms {
  /** @param most connections to a site that may be open now, whatever its pace says */
  make(place: Place, take: () => Pooled | null, most: (site: string) => number): Promise<Room | null>
  /** A connection whose message is done: kept for the next one, or ended where the pace has become slower. */
  putBack(place: Place, pooled: Pooled): void
}

export function createRooms(pool: SessionPool): Rooms {
  const paces = new WeakMap<Session, Pace>()
  const openAt = new Map<string, number>()
  const count = (site: string, change: 1 | -1): void => {
    const open = (openAt.get(site) ?? 0) + change
    if (open === 0) openAt.delete(site)
    else openAt.set(site, open)
  }
  const endIdle = (pace: Pace): boolean => pool.endOne((session) => paces.get(session) === pace)

  function roomFor({ site, pace }: Place): NewRoom {
    count(site, 1)
    const leave = (): void => {
      count(site, -1)
      pace.closed()
    }
    return {
      kind: 'new', close: leave,
      giveBack: () => {
        pace.keepToken()
        leave()
      },
      fill: ({ session }) => {
        paces.set(session, pace)
        session.onClose(leave)
      },
    }
  }

  return {
    make: async (place, take, most) => {
      const { site, pace } = place
      pace.onCrowded = () => { for (let over = pace.open - pace.connections; over > 0 && endIdle(pace); over--); }
      while (pace.connections > 0) {
        const pooled = take()
        if (pooled !== null) return { kind: 'open', pooled }
        if ((openAt.get(site) ?? 0) < most(site) && pace.tryConnect()) return roomFor(place)
        if (pace.open >= pace.connections) endIdle(pace)
        await pace.changed()
      }
      return null
    },
    putBack: ({ site, pace }, pooled) => {
      if (pace.open > pace.connections) void pooled.session.quit()
      else pool.put(site, pooled, pace.receiver.messagesPerConnection)
      pace.wakeConnecting()
    },
  }
}
