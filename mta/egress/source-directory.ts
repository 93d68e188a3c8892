/**
 * This process's copy of the egress sources and pools, with the knowledge which of their addresses are on this machine.
 *
 * The copy follows PostgreSQL by its notifications and, in case one is lost, by a query every half minute. While
 * PostgreSQL is away the last copy stays in force. Each refresh, and a timer every minute, checks the addresses: one
 * that left this machine is not used until it is back. Several machines may share a database: each uses the sources
 * whose addresses it has, and records in PostgreSQL which those are.
 */
import { isIPv6 } from 'node:net'
import { hostname } from 'node:os'
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { listenForNotifications } from '#src/auth/notification-listener.ts'
import type { Context } from '#src/context.ts'
import {
  EGRESS_CHANNEL,
  listSources,
  recordAddressFound,
  recordAddressGone,
  type EgressSource,
} from '#src/egress/sources.ts'
import type { IsOnHost } from './address-check.ts'
import type { LocalEndpoint } from './local-endpoint.ts'

const REFRESH_MS = 30_000
const ADDRESS_CHECK_MS = 60_000

/** A source in a pool. */
export interface PooledSource extends LocalEndpoint {
  readonly source: string
  readonly family: 4 | 6
  readonly id: string
  readonly weight: number
  readonly isPaused: boolean
  readonly isWarming: boolean
}

export interface SourceDirectory {
  /**
   * The sources of a pool; for an empty pool (as in an installation with one pool) those of the default region's pool.
   */
  sourcesOf(pool: string): readonly PooledSource[]
  /** The sources of each pool that has any. */
  readonly pools: ReadonlyMap<string, readonly PooledSource[]>
  isAbsent(id: string): boolean
  /** True when some pool has a source. */
  readonly hasSources: boolean
  /** Names of the sources that are in a pool, on this machine and not paused. */
  readonly usable: readonly string[]
  /** Checks which addresses are on this machine. */
  checkAddresses(): Promise<void>
  /** Calls `act` for each address that is found to have left this machine. */
  onAddressLost(act: (address: string) => void): void
  stop(): Promise<void>
}

export type SourceDirectoryContext = Pick<Context, 'db' | 'clock' | 'log' | 'config'>

interface DirectoryState {
  readonly ctx: SourceDirectoryContext
  readonly isOnHost: IsOnHost
  sources: readonly EgressSource[]
  pools: ReadonlyMap<string, readonly PooledSource[]>
  usable: readonly string[]
  absent: ReadonlySet<string>
  onAddressLost: (address: string) => void
}

/** @throws when PostgreSQL is away. */
export async function openSourceDirectory(ctx: SourceDirectoryContext, isOnHost: IsOnHost): Promise<SourceDirectory> {
  const state: DirectoryState = {
    ctx,
    isOnHost,
    sources: [],
    pools: new Map(),
    usable: [],
    absent: new Set(),
    onAddressLost: () => undefined,
  }
  await refresh(state)
  // one refresh at a time: an older read must not overwrite a newer one
  const refresher = createDebouncedRunner(async () => {
    await refresh(state).catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'failed to load the egress sources; retrying'),
    )
    refresher.schedule(REFRESH_MS)
  }, 0)
  refresher.schedule(REFRESH_MS)
  const timer = setInterval(() => void checkAddresses(state), ADDRESS_CHECK_MS)
  const listener =
    ctx.config.databaseUrl === null
      ? null
      : listenForNotifications({
          url: ctx.config.databaseUrl,
          channel: EGRESS_CHANNEL,
          log: ctx.log,
          onChange: () => refresher.schedule(0),
        })
  return {
    sourcesOf: (pool) => state.pools.get(pool) ?? state.pools.get(REGIONS[DEFAULT_REGION].pool) ?? [],
    get pools() {
      return state.pools
    },
    isAbsent: (id) => state.absent.has(id),
    get hasSources() {
      return state.pools.size > 0
    },
    get usable() {
      return state.usable
    },
    checkAddresses: () => checkAddresses(state),
    onAddressLost: (act) => {
      state.onAddressLost = act
    },
    stop: async () => {
      clearInterval(timer)
      await listener?.stop()
      await refresher.stop()
    },
  }
}

/** A new source is offered only after its address was checked. */
async function refresh(state: DirectoryState): Promise<void> {
  const sources = await listSources(state.ctx.db)
  const pools = new Map<string, PooledSource[]>()
  for (const source of sources)
    for (const { pool, weight } of source.pools)
      pools.set(pool, [...(pools.get(pool) ?? []), pooledSourceOf(source, weight)])
  state.sources = sources
  await checkAddresses(state)
  state.pools = pools
  state.usable = usableOf(state)
}

function usableOf({ sources, absent }: DirectoryState): readonly string[] {
  return sources
    .filter(({ id, isPaused, pools }) => pools.length > 0 && !isPaused && !absent.has(id))
    .map(({ name }) => name)
}

function pooledSourceOf(
  { id, name, address, ehloName, isPaused, warmingSince }: EgressSource,
  weight: number,
): PooledSource {
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

async function checkAddresses(state: DirectoryState): Promise<void> {
  const { sources, ctx, absent: before } = state
  const isLocal = await Promise.all(sources.map(({ address }) => state.isOnHost(address)))
  const absent = new Set(sources.filter((_, i) => isLocal[i] === false).map(({ id }) => id))
  state.absent = absent
  state.usable = usableOf(state)
  for (const { id, address } of sources) if (absent.has(id) && !before.has(id)) state.onAddressLost(address)
  for (const source of sources) {
    if (absent.has(source.id) !== before.has(source.id)) logPresence(ctx, source, absent.has(source.id))
    await storePresence(ctx, source, absent.has(source.id)).catch((error: unknown) => {
      ctx.log.debug({ err: error }, 'failed to store which machine has a source; retrying at the next check')
    })
  }
}

function logPresence({ log }: SourceDirectoryContext, { name, address }: EgressSource, isAbsent: boolean): void {
  if (isAbsent)
    log.warn({ source: name, address }, 'the address of a source is not on this machine; its mail goes by others')
  else log.info({ source: name, address }, 'the address of a source is on this machine again')
}

async function storePresence(
  ctx: SourceDirectoryContext,
  { id, goneSince }: EgressSource,
  isAbsent: boolean,
): Promise<void> {
  if (isAbsent && goneSince === null) await recordAddressGone(ctx, id, hostname())
  if (!isAbsent && goneSince !== null) await recordAddressFound(ctx.db, id, hostname())
}
