/**
 * The outbound side of the schedule in Redis: takes what is due, holds what is ready by site, and claims from a site by tier.
 *
 * Inside a tier, workspaces take turns. Each recipient gets a turn number, one more than the last of its workspace and never less than the
 * current turn, and the lowest number goes next. So a workspace with a million recipients and one that comes with a hundred alternate from
 * then on. The cost is one hash field for each workspace that has mail ready there.
 *
 * Each script touches one slot of a Redis Cluster. What a script took and a dying process lost is found again from PostgreSQL, and what is
 * here twice is claimed there once: this file never decides that a mail is sent. Every function rejects while Redis is away.
 */
import { dueKey, READY_CHANNEL, readyKey, SITES_KEY, turnsKey } from '#src/queue/keys.ts'
import { ownerOf } from '#src/queue/member.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { Redis } from '#src/stores/redis.ts'

/** KEYS due set; ARGV now, limit → members with scores, flat; then the next score or ''. */
const TAKE_DUE = `
local taken = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
if #taken > 0 then
  local members = {}
  for i = 1, #taken, 2 do members[#members + 1] = taken[i] end
  redis.call('ZREM', KEYS[1], unpack(members))
end
local following = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {taken, following[2] or ''}`

/** KEYS ready set, turns; ARGV for each workspace its name, how many, and its members. A member that is already there keeps its turn. */
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
const PUT_BACK = `
local now = redis.call('HGET', KEYS[2], 'now') or '0'
for _, member in ipairs(ARGV) do redis.call('ZADD', KEYS[1], 'NX', now, member) end`

/**
 * KEYS ready set and turns of each tier, the highest first; ARGV limit for the highest tier, limit for all others together → one list of
 * members for each tier.
 */
const CLAIM_READY = `
local room = {tonumber(ARGV[1]), tonumber(ARGV[2])}
local claimed = {}
for rank = 1, #KEYS / 2 do
  local kind = rank == 1 and 1 or 2
  local members = {}
  if room[kind] > 0 then
    local got = redis.call('ZPOPMIN', KEYS[2 * rank - 1], room[kind])
    for i = 1, #got, 2 do members[#members + 1] = got[i] end
    if #members < room[kind] then redis.call('DEL', KEYS[2 * rank])
    else redis.call('HSET', KEYS[2 * rank], 'now', got[#got]) end
    room[kind] = room[kind] - #members
  end
  claimed[rank] = members
end
return claimed`

/** Members in one call; a script's stack holds a few thousand. */
const MAX_ADDED = 1000

interface Scripts {
  takeDue(key: string, now: number, limit: number): Promise<[string[], string]>
  addReady(...args: (string | number)[]): Promise<null>
  putBackReady(...args: string[]): Promise<null>
  claimReady(...args: string[]): Promise<string[][]>
}

export interface DueEntry {
  readonly member: string
  /** Epoch ms. */
  readonly dueMs: number
}

export interface ReadyEntry {
  readonly member: string
  readonly tier: Tier
}

/** How many to claim: of the highest tier, and of all others together. */
export interface ReadyLimit {
  readonly instant: number
  readonly others: number
}

export interface ReadyQueue {
  /** Takes at most `limit` due recipients of a tier, the earliest first; `nextMs` is when the next one is due (epoch ms), or null. */
  takeDue(tier: Tier, nowMs: number, limit: number): Promise<{ taken: DueEntry[]; nextMs: number | null }>
  /** Makes recipients ready at their sites, behind what their workspaces have there, and notifies the other outbound processes. */
  addReady(bySite: ReadonlyMap<string, readonly ReadyEntry[]>): Promise<void>
  /** Claims ready recipients of a site, strictly by tier. */
  claim(site: string, limit: ReadyLimit): Promise<ReadyEntry[]>
  /** Makes claimed recipients ready again; they go first. Notifies nobody: who may send them knows of them. */
  putBack(site: string, entries: readonly ReadyEntry[]): Promise<void>
  /** Sites that may have ready recipients. */
  listSites(): Promise<string[]>
  /** Drops a site that stayed empty. A site that filled meanwhile stays in the list. */
  dropSite(site: string): Promise<void>
}

export function createReadyQueue(redis: Redis): ReadyQueue {
  const scripts = defineScripts(redis)
  return {
    takeDue: async (tier, nowMs, limit) => {
      const [flat, next] = await scripts.takeDue(dueKey(tier), nowMs, limit)
      return { taken: dueEntriesOf(flat), nextMs: next === '' ? null : Number(next) }
    },
    addReady: (bySite) => addReady(scripts, bySite),
    claim: async (site, { instant, others }) => {
      const keys = TIER_NAMES.flatMap((tier) => keysOf(site, tier))
      const byTier = await scripts.claimReady(...keys, String(instant), String(others))
      return byTier.flatMap((members, rank) => members.map((member) => ({ member, tier: TIER_NAMES[rank] ?? 'bulk' })))
    },
    putBack: async (site, entries) => {
      await Promise.all(
        TIER_NAMES.flatMap((tier) => {
          const members = membersOf(entries, tier)
          return members.length === 0 ? [] : [scripts.putBackReady(...keysOf(site, tier), ...members)]
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
  redis.defineCommand('takeDue', { numberOfKeys: 1, lua: TAKE_DUE })
  redis.defineCommand('claimReady', { numberOfKeys: 2 * TIER_NAMES.length, lua: CLAIM_READY })
  redis.defineCommand('addReady', { numberOfKeys: 2, lua: ADD_READY })
  redis.defineCommand('putBackReady', { numberOfKeys: 2, lua: PUT_BACK })
  if (!isScripted(redis)) throw new Error('ioredis did not define the scripts of the ready queue')
  return redis
}

function isScripted(redis: Redis): redis is Redis & Scripts {
  return 'takeDue' in redis && 'claimReady' in redis
}

function dueEntriesOf(flat: readonly string[]): DueEntry[] {
  const entries: DueEntry[] = []
  for (let i = 0; i + 1 < flat.length; i += 2) entries.push({ member: flat[i] ?? '', dueMs: Number(flat[i + 1]) })
  return entries
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
    const mine = byOwner.get(ownerOf(member))
    if (mine === undefined) byOwner.set(ownerOf(member), [member])
    else mine.push(member)
  }
  return [...byOwner].flatMap(([owner, mine]) => [owner, mine.length, ...mine])
}
