/**
 * The ready recipients of each site in Redis: adds them, claims them by tier, and makes them ready again.
 *
 * Within a tier, workspaces take turns. Each recipient gets a turn number, one more than the last of its workspace
 * and never less than the current turn, and the lowest number goes next. So a workspace with a million recipients and
 * one that arrives with a hundred alternate from then on. The cost is one hash field for each workspace that has
 * ready mail there.
 *
 * Each script touches one slot of a Redis Cluster. Recipients that a script removed and a dying process lost are
 * found again from PostgreSQL, and a recipient that is here twice is claimed there once: this file never decides that
 * a message is sent. Every function rejects while Redis is away.
 */
import { READY_CHANNEL, readyKey, SITES_KEY, turnsKey, workspaceOfMember } from '#src/queue/keys.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { Redis } from '#src/stores/redis.ts'

/**
 * KEYS ready set, turns; ARGV for each workspace its name, how many, and its members. A member that is already there
 * keeps its turn.
 */
const ADD_READY = `
local now = tonumber(redis.call('HGET', KEYS[2], 'now') or '0')
local at = 1
while at <= #ARGV do
  local owner, count = ARGV[at], tonumber(ARGV[at + 1])
  local turn = math.max(now, tonumber(redis.call('HGET', KEYS[2], owner) or '0'))
  local scored = {}
  for i = 1, count do
    scored[2 * i - 1] = turn + i
    scored[2 * i] = ARGV[at + 1 + i]
  end
  local added = redis.call('ZADD', KEYS[1], 'NX', unpack(scored))
  if added > 0 then redis.call('HSET', KEYS[2], owner, turn + added) end
  at = at + 2 + count
end`

/** KEYS ready set, turns; ARGV members, which go next. */
const REQUEUE = `
local now = redis.call('HGET', KEYS[2], 'now') or '0'
for _, member in ipairs(ARGV) do redis.call('ZADD', KEYS[1], 'NX', now, member) end`

/**
 * KEYS ready set and turns of each tier, the highest first; ARGV limit for the highest tier, limit for all others
 * together → one list of members for each tier.
 */
const CLAIM_READY = `
local limits = {tonumber(ARGV[1]), tonumber(ARGV[2])}
local claimed = {}
for rank = 1, #KEYS / 2 do
  local kind = rank == 1 and 1 or 2
  local members = {}
  if limits[kind] > 0 then
    local popped = redis.call('ZPOPMIN', KEYS[2 * rank - 1], limits[kind])
    for i = 1, #popped, 2 do members[#members + 1] = popped[i] end
    if #members < limits[kind] then redis.call('DEL', KEYS[2 * rank])
    else redis.call('HSET', KEYS[2 * rank], 'now', popped[#popped]) end
    limits[kind] = limits[kind] - #members
  end
  claimed[rank] = members
end
return claimed`

/** Members in one call; the stack of a Lua script holds a few thousand. */
const MAX_ADDED = 1000

interface Scripts {
  addReady(...args: (string | number)[]): Promise<null>
  requeueReady(...args: string[]): Promise<null>
  claimReady(...args: string[]): Promise<string[][]>
}

export interface ReadyEntry {
  readonly member: string
  readonly tier: Tier
}

/** How many recipients to claim: of the highest tier, and of all others together. */
export interface ClaimLimit {
  readonly instant: number
  readonly others: number
}

export interface ReadyQueue {
  /**
   * Makes recipients ready at their sites, behind other mail of their workspaces, and notifies the other outbound
   * processes.
   */
  addReady(bySite: ReadonlyMap<string, readonly ReadyEntry[]>): Promise<void>
  /** Claims ready recipients of a site, strictly by tier. */
  claim(site: string, limit: ClaimLimit): Promise<ReadyEntry[]>
  /** Makes claimed recipients ready again, ahead of all others. Notifies no process: the caller sends them later. */
  requeue(site: string, entries: readonly ReadyEntry[]): Promise<void>
  /** Sites that may have ready recipients. */
  listSites(): Promise<string[]>
  /** Removes an empty site from the list. A site that filled meanwhile stays. */
  dropSite(site: string): Promise<void>
}

export function createReadyQueue(redis: Redis): ReadyQueue {
  const scripts = defineScripts(redis)
  return {
    addReady: (bySite) => addReady(scripts, bySite),
    claim: async (site, { instant, others }) => {
      const keys = TIER_NAMES.flatMap((tier) => keysOf(site, tier))
      const byTier = await scripts.claimReady(...keys, String(instant), String(others))
      return byTier.flatMap((members, rank) => members.map((member) => ({ member, tier: TIER_NAMES[rank] ?? 'bulk' })))
    },
    requeue: async (site, entries) => {
      await Promise.all(
        TIER_NAMES.flatMap((tier) => {
          const members = membersOf(entries, tier)
          return members.length === 0 ? [] : [scripts.requeueReady(...keysOf(site, tier), ...members)]
        }),
      )
      await redis.zadd(SITES_KEY, Date.now(), site)
    },
    listSites: () => redis.zrange(SITES_KEY, '0', '-1'),
    dropSite: async (site) => {
      await redis.zrem(SITES_KEY, site)
      const counts = await Promise.all(TIER_NAMES.map((tier) => redis.zcard(readyKey(site, tier))))
      if (counts.some((count) => count > 0)) await redis.zadd(SITES_KEY, Date.now(), site)
    },
  }
}

function defineScripts(redis: Redis): Redis & Scripts {
  if (isScripted(redis)) return redis
  redis.defineCommand('claimReady', { numberOfKeys: 2 * TIER_NAMES.length, lua: CLAIM_READY })
  redis.defineCommand('addReady', { numberOfKeys: 2, lua: ADD_READY })
  redis.defineCommand('requeueReady', { numberOfKeys: 2, lua: REQUEUE })
  if (!isScripted(redis)) throw new Error('ioredis did not define the scripts of the ready queue')
  return redis
}

function isScripted(redis: Redis): redis is Redis & Scripts {
  return 'addReady' in redis && 'claimReady' in redis
}

async function addReady(redis: Redis & Scripts, bySite: ReadonlyMap<string, readonly ReadyEntry[]>): Promise<void> {
  const adding = [...bySite].flatMap(([site, entries]) =>
    TIER_NAMES.flatMap((tier) =>
      slicesOf(membersOf(entries, tier)).map((slice) =>
        redis.addReady(...keysOf(site, tier), ...argumentsByWorkspace(slice)),
      ),
    ),
  )
  // follows the scripts on the same connection, in the same turn of the event loop
  const pipeline = redis.pipeline()
  for (const site of bySite.keys()) pipeline.zadd(SITES_KEY, Date.now(), site).publish(READY_CHANNEL, site)
  const [replies] = await Promise.all([pipeline.exec(), ...adding])
  const failure = replies?.find(([error]) => error !== null)?.[0]
  if (failure) throw failure
}

function keysOf(site: string, tier: Tier): [string, string] {
  return [readyKey(site, tier), turnsKey(site, tier)]
}

function membersOf(entries: readonly ReadyEntry[], tier: Tier): string[] {
  return entries.filter((entry) => entry.tier === tier).map(({ member }) => member)
}

function slicesOf(members: readonly string[]): (readonly string[])[] {
  const count = Math.ceil(members.length / MAX_ADDED)
  return Array.from({ length: count }, (_, i) => members.slice(i * MAX_ADDED, (i + 1) * MAX_ADDED))
}

function argumentsByWorkspace(members: readonly string[]): (string | number)[] {
  const byOwner = new Map<string, string[]>()
  for (const member of members) {
    const mine = byOwner.get(workspaceOfMember(member))
    if (mine === undefined) byOwner.set(workspaceOfMember(member), [member])
    else mine.push(member)
  }
  return [...byOwner].flatMap(([owner, mine]) => [owner, mine.length, ...mine])
}
