/**
 * Room for connections within the pace of a source at a receiver: nobody connects before the pace has room for one more, and a connection
 * has its room until its socket is closed, idle or saying QUIT too: what the receiver counts is what is counted here. An idle connection to
 * another site of the same receiver makes way for one that is needed. A site that just came back from the dead gets its connections a few
 * at a time.
 *
 * The pace is shut while somebody waits for room: he is told, and nothing came of it.
 */
import type { Pace } from '#mta/shaping/throttle.ts'
import type { Session } from '#mta/smtp/session.ts'
import { pathOf, type Pooled, type SessionPool } from './session-pool.ts'

export type Room =
  /** A connection came free meanwhile. */
  { readonly kind: 'open'; readonly pooled: Pooled } | NewRoom

/** Room for one new connection; one of these must follow. */
export interface NewRoom {
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
  /** That the pace is of. */
  readonly source: string | null
  readonly pace: Pace
}

export interface Rooms {
  /** @param most connections on a path that may be open now, whatever its pace says */
  make(place: Place, take: () => Pooled | null, most: (path: string) => number): Promise<Room | null>
  /** The same for one that does not wait: null where there is none. */
  tryMake(place: Place): NewRoom | null
  /** A connection whose message is done: kept for the next one, or ended where the pace has become slower. */
  putBack(site: string, pooled: Pooled): void
}

export function createRooms(pool: SessionPool): Rooms {
  const paces = new WeakMap<Session, Pace>()
  const openAt = new Map<string, number>()
  const count = (path: string, change: 1 | -1): void => {
    const open = (openAt.get(path) ?? 0) + change
    if (open === 0) openAt.delete(path)
    else openAt.set(path, open)
  }
  const endIdle = (pace: Pace): boolean => pool.endOne((session) => paces.get(session) === pace)

  function roomFor({ site, source, pace }: Place): NewRoom {
    const path = pathOf(site, source)
    count(path, 1)
    const leave = (): void => {
      count(path, -1)
      pace.closed()
    }
    return {
      kind: 'new',
      close: leave,
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
      const { pace } = place
      const path = pathOf(place.site, place.source)
      pace.onCrowded = () => {
        for (let over = pace.open - pace.connections; over > 0 && endIdle(pace); over--);
      }
      while (pace.connections > 0) {
        const pooled = take()
        if (pooled !== null) return { kind: 'open', pooled }
        if ((openAt.get(path) ?? 0) < most(path) && pace.tryConnect()) return roomFor(place)
        if (pace.open >= pace.connections) endIdle(pace)
        await pace.changed()
      }
      return null
    },
    tryMake: (place) => (place.pace.tryConnect() ? roomFor(place) : null),
    putBack: (site, pooled) => {
      const pace = paces.get(pooled.session)
      if (pace === undefined || pace.open > pace.connections) void pooled.session.quit()
      else pool.put(site, pooled, pace.receiver.messagesPerConnection)
      pace?.wakeConnecting()
    },
  }
}
