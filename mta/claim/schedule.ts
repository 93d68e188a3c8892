/**
 * The outbound side of the schedule in Redis: takes what is due, keeps it ready by site, claims from a site by tier.
 *
 * Inside a tier workspaces are served in turn: each recipient gets a number, one more than the last of its workspace and never less than
 * the turn that is on, and the lowest number goes next. A workspace with a million and one that comes with a hundred thus alternate from
 * then on. It costs one field for each workspace that has mail ready there.
 *
 * Each script touches one slot. What is taken out and lost with a dying process is found again from PostgreSQL, and what stands here twice is
 * claimed there once: this file never decides that a mail is sent.
 */
import type { Redis } from '#src/redis.ts'
import { dueKey, READY_CHANNEL, readyKey, SITES_KEY, turnsKey } from '#src/queue/keys.ts'
import { ownerOf } from '#src/queue/member.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'

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

/** KEYS ready set, turns; ARGV for each workspace its name, how many, and so many members. One that is there already keeps its turn. */
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
const MOST_ADDED = 1000

interface Scripts {
  takeDue(key: string, now: number, limit: number): Promise<[string[], string]>
  addReady(...args: (string | number)[]): Promise<null>
  putBackReady(...args: string[]): Promise<null>
  claimReady(...args: string[]): Promise<string[][]>
}

export interface Entry {
  readonly member: string
  /** Epoch milliseconds. */
  readonly dueMs: number
}

export interface ReadyEntry {
  readonly member: string
  readonly tier: Tier
}

function isScripted(redis: Redis): redis is Redis & Scripts {
  return 'takeDue' in redis && 'claimReady' in redis
}

function scripted(redis: Redis): Redis & Scripts {
  if (isScripted(redis)) return redis
  redis.defineCommand('takeDue', { numberOfKeys: 1, lua: TAKE_DUE })
  redis.defineCommand('claimReady', { numberOfKeys: 2 * TIER_NAMES.length, lua: CLAIM_READY })
  redis.defineCommand('addReady', { numberOfKeys: 2, lua: ADD_READY })
  redis.defineCommand('putBackReady', { numberOfKeys: 2, lua: PUT_BACK })
  if (!isScripted(redis)) throw new Error('ioredis did not define the scripts')
  return redis
}

function entriesOf(flat: readonly string[]): Entry[] {
  const entries: Entry[] = []
  for (let i = 0; i + 1 < flat.length; i += 2) entries.push({ member: flat[i] ?? '', dueMs: Number(flat[i + 1]) })
  return entries
}

/** Takes at most `limit` recipients of a tier whose time has come; `nextMs` is when the next one is due, null when there is none. */
export async function takeDue(
  redis: Redis,
  tier: Tier,
  nowMs: number,
  limit: number,
): Promise<{ taken: Entry[]; nextMs: number | null }> {
  const [flat, next] = await scripted(redis).takeDue(dueKey(tier), nowMs, limit)
  return { taken: entriesOf(flat), nextMs: next === '' ? null : Number(next) }
}

/** Makes recipients ready at their sites, behind what their workspaces have there, and tells the other outbound processes. */
export async function addReady(redis: Redis, bySite: ReadonlyMap<string, readonly ReadyEntry[]>): Promise<void> {
  const adding = [...bySite].flatMap(([site, entries]) =>
    TIER_NAMES.flatMap((tier) => {
      const mine = entries.filter((entry) => entry.tier === tier).map(({ member }) => member)
      return slicesOf(mine).map((slice) => scripted(redis).addReady(...keysOf(site, tier), ...byOwner(slice)))
    }),
  )
  // sent behind them on the same connection, in the same turn of the event loop
  const pipeline = redis.pipeline()
  for (const site of bySite.keys()) pipeline.zadd(SITES_KEY, Date.now(), site).publish(READY_CHANNEL, site)
  const [told] = await Promise.all([pipeline.exec(), ...adding])
  const failure = told?.find(([error]) => error !== null)?.[0]
  if (failure) throw failure
}

function keysOf(site: string, tier: Tier): [string, string] {
  return [readyKey(site, tier), turnsKey(site, tier)]
}

function slicesOf(members: readonly string[]): (readonly string[])[] {
  return Array.from({ length: Math.ceil(members.length / MOST_ADDED) }, (_, i) =>
    members.slice(i * MOST_ADDED, (i + 1) * MOST_ADDED),
  )
}

function byOwner(members: readonly string[]): (string | number)[] {
  const owners = new Map<string, string[]>()
  for (const member of members) {
    const mine = owners.get(ownerOf(member))
    if (mine === undefined) owners.set(ownerOf(member), [member])
    else mine.push(member)
  }
  return [...owners].flatMap(([owner, mine]) => [owner, mine.length, ...mine])
}

interface Room {
  readonly instant: number
  readonly others: number
}

/** Claims ready recipients of a site, strictly by tier: up to `instant` of the highest, up to `others` of all the rest together. */
export async function claimReady(redis: Redis, site: string, { instant, others }: Room): Promise<ReadyEntry[]> {
  const keys = TIER_NAMES.flatMap((tier) => keysOf(site, tier))
  const lists = await scripted(redis).claimReady(...keys, String(instant), String(others))
  return lists.flatMap((members, rank) => members.map((member) => ({ member, tier: TIER_NAMES[rank] ?? 'bulk' })))
}

/** What was claimed and cannot be sent now is ready again, and goes first. Nobody is told: whoever may send it knows already. */
export async function putBackReady(redis: Redis, site: string, entries: readonly ReadyEntry[]): Promise<void> {
  await Promise.all(
    TIER_NAMES.flatMap((tier) => {
      const mine = entries.filter((entry) => entry.tier === tier).map(({ member }) => member)
      return mine.length === 0 ? [] : [scripted(redis).putBackReady(...keysOf(site, tier), ...mine)]
    }),
  )
  await redis.zadd(SITES_KEY, Date.now(), site)
}

/** Sites that may have ready recipients. */
export function listSites(redis: Redis): Promise<string[]> {
  return redis.zrange(SITES_KEY, '0', '-1')
}

/** Forgets a site that was found empty for a while. One that filled in between is put back, so nothing is left unseen. */
export async function forgetSite(redis: Redis, site: string): Promise<void> {
  await redis.zrem(SITES_KEY, site)
  const counts = await Promise.all(TIER_NAMES.map((tier) => redis.zcard(readyKey(site, tier))))
  if (counts.some((count) => count > 0)) await redis.zadd(SITES_KEY, Date.now(), site)
}
