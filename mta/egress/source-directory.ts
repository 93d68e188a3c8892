/**
 * This process's copy of the sources and pools, and which of the addresses are on this machine.
 *
 * The copy follows PostgreSQL by its announcements and, where those are lost, by looking every half minute; while PostgreSQL is away the
 * last one holds. Addresses are looked at with each copy and every minute: one that left is not used, and one that is back is. Several
 * machines may share a database: each uses the sources that it has, and says in PostgreSQL which those are.
 */
import { isIPv6 } from 'node:net'
import { hostname } from 'node:os'
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { createAlarm } from '#src/concurrency/debounced-runner.ts'
import { listen } from '#src/auth/listener.ts'
import type { Context } from '#src/context.ts'
import { EGRESS_CHANNEL, listSources, noteFound, noteGone, type Source } from '#src/egress/sources.ts'
import type { IsOnHost } from './address-check.ts'
import type { Way } from './local-endpoint.ts'

const LOOK_MS = 30_000
const PRESENCE_MS = 60_000

/** A source in a pool. */
export interface Member extends Way {
  readonly source: string
  readonly family: 4 | 6
  readonly id: string
  readonly weight: number
  readonly isPaused: boolean
  readonly isWarming: boolean
}

export interface Roster {
  /** Of the pool, or where it has none, as in an installation with one pool, of the default region's. */
  membersOf(pool: string): readonly Member[]
  isAbsent(id: string): boolean
  /** Some pool has a source. */
  readonly hasMembers: boolean
  /** Names of those that are in a pool, here, and not paused. */
  readonly usable: readonly string[]
  /** Looks again which addresses are here. */
  lookForAddresses(): Promise<void>
  /** Calls it for each address that leaves, once it is seen. */
  onGone(act: (address: string) => void): void
  stop(): Promise<void>
}

export type RosterContext = Pick<Context, 'db' | 'clock' | 'log' | 'config'>

interface State {
  readonly ctx: RosterContext
  readonly isOnHost: IsOnHost
  sources: readonly Source[]
  pools: ReadonlyMap<string, readonly Member[]>
  usable: readonly string[]
  absent: ReadonlySet<string>
  onGone: (address: string) => void
}

/** @throws when PostgreSQL is away. */
export async function openRoster(ctx: RosterContext, isOnHost: IsOnHost): Promise<Roster> {
  const state: State = {
    ctx,
    isOnHost,
    sources: [],
    pools: new Map(),
    usable: [],
    absent: new Set(),
    onGone: () => undefined,
  }
  await refresh(state)
  // one at a time: what was read first must not be kept over what was read later
  const alarm = createAlarm(async () => {
    await refresh(state).catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'the egress sources could not be read'),
    )
    alarm.set(LOOK_MS)
  }, 0)
  alarm.set(LOOK_MS)
  const timer = setInterval(() => void lookForAddresses(state), PRESENCE_MS)
  const listener =
    ctx.config.databaseUrl === null ? null : listen(ctx.config.databaseUrl, EGRESS_CHANNEL, ctx.log, () => alarm.set(0))
  return {
    membersOf: (pool) => state.pools.get(pool) ?? state.pools.get(REGIONS[DEFAULT_REGION].pool) ?? [],
    isAbsent: (id) => state.absent.has(id),
    get hasMembers() {
      return state.pools.size > 0
    },
    get usable() {
      return state.usable
    },
    lookForAddresses: () => lookForAddresses(state),
    onGone: (act) => {
      state.onGone = act
    },
    stop: async () => {
      clearInterval(timer)
      await listener?.stop()
      await alarm.stop()
    },
  }
}

/** What is new is offered only when it is known whether it is here. */
async function refresh(state: State): Promise<void> {
  const sources = await listSources(state.ctx.db)
  const pools = new Map<string, Member[]>()
  for (const source of sources)
    for (const { pool, weight } of source.pools) pools.set(pool, [...(pools.get(pool) ?? []), memberOf(source, weight)])
  state.sources = sources
  await lookForAddresses(state)
  state.pools = pools
  state.usable = usableOf(state)
}

function usableOf({ sources, absent }: State): readonly string[] {
  return sources
    .filter(({ id, isPaused, pools }) => pools.length > 0 && !isPaused && !absent.has(id))
    .map(({ name }) => name)
}

function memberOf({ id, name, address, ehloName, isPaused, warmingSince }: Source, weight: number): Member {
  return {
    id,
    source: name,
    address,
    family: isIPv6(address) ? 6 : 4,
    ehloName,
    weight,
    isPaused,
    isWarming: warmingSince !== null,
  }
}

async function lookForAddresses(state: State): Promise<void> {
  const { sources, ctx, absent: before } = state
  const found = await Promise.all(sources.map(({ address }) => state.isOnHost(address)))
  const absent = new Set(sources.filter((_, i) => found[i] === false).map(({ id }) => id))
  state.absent = absent
  state.usable = usableOf(state)
  for (const { id, address } of sources) if (absent.has(id) && !before.has(id)) state.onGone(address)
  for (const source of sources) {
    if (absent.has(source.id) !== before.has(source.id)) tell(ctx, source, absent.has(source.id))
    await note(ctx, source, absent.has(source.id)).catch((error: unknown) => {
      ctx.log.debug({ err: error }, 'where a source is could not be written; it is at the next look')
    })
  }
}

function tell({ log }: RosterContext, { name, address }: Source, isAbsent: boolean): void {
  if (isAbsent)
    log.warn({ source: name, address }, 'the address of a source is not on this machine; its mail goes by others')
  else log.info({ source: name, address }, 'the address of a source is on this machine again')
}

async function note(ctx: RosterContext, { id, goneSince }: Source, isAbsent: boolean): Promise<void> {
  if (isAbsent && goneSince === null) await noteGone(ctx, id, hostname())
  if (!isAbsent && goneSince !== null) await noteFound(ctx.db, id, hostname())
}
