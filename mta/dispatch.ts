/**
 * From due to ready: takes the recipients whose time has come, highest tier first, finds the site of each by its domain, and makes them
 * ready there. Woken by those who schedule, and by a timer at the next due time. A slow DNS answer holds back its own domain only. Dies
 * between taking and making ready: PostgreSQL still says that they wait, and the worker puts them on the schedule again.
 */
import { addReady, takeDue, type Entry } from '#mta/claim/schedule.ts'
import type { Context } from '#src/context.ts'
import { EPOCH_KEY } from '#src/queue/keys.ts'
import { parseMember } from '#src/queue/member.ts'
import { schedule, type Due } from '#src/queue/schedule.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'

const BATCH = 500
/**
 * Recipients that wait for DNS; beyond it nothing more is taken (instant mail: twice as much), so memory stays bounded while DNS is slow.
 */
const MAX_ROUTING = 20_000
/** Never sleep longer: a wake-up that was lost with a Redis connection costs at most this. */
const LONGEST_SLEEP_MS = 2000
const REDIS_AWAY_MS = 250

export interface DispatchParts {
  /** The site that takes mail for a domain; never rejects. */
  readonly siteOf: (domain: string) => Promise<string>
  /** Called after recipients became ready. */
  readonly onReady: (site: string, hasInstant: boolean) => void
}

export interface Dispatcher {
  /** Something was scheduled: a tier's name, or anything else for "look at the times again". */
  kick(tier: string): void
  stop(): Promise<void>
}

interface DueEntry extends Entry {
  readonly tier: Tier
}

interface State {
  readonly pending: Set<Tier>
  readonly nextMs: Map<Tier, number>
  /** Gathered in this turn of the event loop, on their way to Redis together. */
  ready: Map<string, DueEntry[]>
  routing: number
  isStopped: boolean
  wake: () => void
}

export function createDispatcher(ctx: Context, parts: DispatchParts): Dispatcher {
  const state: State = {
    pending: new Set(TIER_NAMES),
    nextMs: new Map(),
    ready: new Map(),
    routing: 0,
    isStopped: false,
    wake: () => undefined,
  }
  const running = run(ctx, parts, state)
  return {
    kick: (tier) => {
      const known = TIER_NAMES.find((name) => name === tier)
      for (const name of known === undefined ? TIER_NAMES : [known]) state.pending.add(name)
      state.wake()
    },
    stop: async () => {
      state.isStopped = true
      state.wake()
      await running
      // taken out and not yet ready: the worker puts it on the schedule again
      if (state.routing > 0) await ctx.redis.del(EPOCH_KEY).catch(() => undefined)
    },
  }
}

async function run(ctx: Context, parts: DispatchParts, state: State): Promise<void> {
  while (!state.isStopped) {
    const tier = TIER_NAMES.find(
      (name) => state.pending.has(name) && state.routing < (name === 'instant' ? 2 : 1) * MAX_ROUTING,
    )
    if (tier === undefined) {
      await sleep(ctx, state)
      continue
    }
    state.pending.delete(tier)
    try {
      await dispatchTier(ctx, parts, state, tier)
    } catch (error) {
      ctx.log.debug({ err: error }, 'what is due cannot be taken; Redis is away')
      state.pending.add(tier)
      await new Promise((resolve) => setTimeout(resolve, REDIS_AWAY_MS))
    }
  }
}

/** One batch, then back to the highest tier. */
async function dispatchTier(ctx: Context, parts: DispatchParts, state: State, tier: Tier): Promise<void> {
  const { taken, nextMs } = await takeDue(ctx.redis, tier, ctx.clock.now(), BATCH)
  if (nextMs === null) state.nextMs.delete(tier)
  else state.nextMs.set(tier, nextMs)
  if (taken.length === BATCH) state.pending.add(tier)
  for (const [domain, entries] of groupByDomain(taken)) {
    state.routing += entries.length
    void parts
      .siteOf(domain)
      .then((site) => collect(ctx, parts, state, { site, entries: entries.map((entry) => ({ ...entry, tier })) }))
  }
}

function groupByDomain(entries: readonly Entry[]): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const domain = parseMember(entry.member)?.domain
    if (domain === undefined) continue
    const group = groups.get(domain)
    if (group === undefined) groups.set(domain, [entry])
    else group.push(entry)
  }
  return groups
}

function collect(ctx: Context, parts: DispatchParts, state: State, found: { site: string; entries: DueEntry[] }): void {
  if (state.ready.size === 0) setImmediate(() => void flush(ctx, parts, state))
  state.ready.set(found.site, [...(state.ready.get(found.site) ?? []), ...found.entries])
}

async function flush(ctx: Context, parts: DispatchParts, state: State): Promise<void> {
  const batch = state.ready
  state.ready = new Map()
  try {
    await addReady(ctx.redis, batch)
    for (const [site, entries] of batch)
      parts.onReady(
        site,
        entries.some(({ tier }) => tier === 'instant'),
      )
  } catch (error) {
    // Redis went away between the two steps
    ctx.log.debug({ err: error, sites: batch.size }, 'recipients could not be made ready; they go back on the schedule')
    schedule(ctx, [...batch.values()].flat().flatMap(dueOf))
  }
  for (const entries of batch.values()) state.routing -= entries.length
  if (state.pending.size > 0) state.wake()
}

function dueOf({ member, tier, dueMs }: DueEntry): Due[] {
  const parsed = parseMember(member)
  return parsed === null ? [] : [{ ...parsed, tier, dueMs }]
}

/** Until the next due time, a kick, or the longest sleep. */
async function sleep(ctx: Context, state: State): Promise<void> {
  const next = Math.min(...state.nextMs.values(), Infinity)
  const ms = Math.max(0, Math.min(next - ctx.clock.now(), LONGEST_SLEEP_MS))
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    state.wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
  state.wake = () => undefined
  const now = ctx.clock.now()
  for (const tier of TIER_NAMES)
    if (ms === LONGEST_SLEEP_MS || (state.nextMs.get(tier) ?? Infinity) <= now) state.pending.add(tier)
}
