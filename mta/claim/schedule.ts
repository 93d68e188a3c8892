/**
 * The outbound side of the schedule in Redis: takes what is due, keeps it ready by site, claims from a site by tier.
 * Each script touches one slot. What is taken out and lost with a dying process is found again from PostgreSQL, and what stands here twice is
 * claimed there once: this file never decides that a mail is sent.
 */
import type { Redis } from '#src/redis.ts'
import { dueKey, READY_CHANNEL, readyKey, SITES_KEY } from '#src/queue/keys.ts'
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

/** KEYS ready sets, highest tier first; ARGV limit for the highest tier, limit for all others together → one list of members with scores for each tier. */
const CLAIM_READY = `
local room = {tonumber(ARGV[1]), tonumber(ARGV[2])}
local claimed = {}
for rank = 1, #KEYS do
  local kind = rank == 1 and 1 or 2
  local got = {}
  if room[kind] > 0 then
    got = redis.call('ZPOPMIN', KEYS[rank], room[kind])
    room[kind] = room[kind] - #got / 2
  end
  claimed[rank] = got
end
return claimed`

interface Scripts {
  takeDue(key: string, now: number, limit: number): Promise<[string[], string]>
  claimReady(...args: string[]): Promise<string[][]>
}

export interface Entry {
  readonly member: string
  /** Epoch milliseconds. */
  readonly dueMs: number
}

export interface ReadyEntry extends Entry {
  readonly tier: Tier
}

function isScripted(redis: Redis): redis is Redis & Scripts {
  return 'takeDue' in redis && 'claimReady' in redis
}

function scripted(redis: Redis): Redis & Scripts {
  if (isScripted(redis)) return redis
  redis.defineCommand('takeDue', { numberOfKeys: 1, lua: TAKE_DUE })
  redis.defineCommand('claimReady', { numberOfKeys: TIER_NAMES.length, lua: CLAIM_READY })
  if (!isScripted(redis)) throw new Error('ioredis did not define the scripts')
  return redis
}

function entriesOf(flat: readonly string[]): Entry[] {
  const entries: Entry[] = []
  for (let i = 0; i + 1 < flat.length; i += 2) entries.push({ member: flat[i] ?? '', dueMs: Number(flat[i + 1]) })
  return entries
}

/** Takes at most `limit` recipients of a tier whose time has come; `nextMs` is when the next one is due, null when there is none. */
export async function takeDue(redis: Redis, tier: Tier, nowMs: number, limit: number): Promise<{ taken: Entry[]; nextMs: number | null }> {
  const [flat, next] = await scripted(redis).takeDue(dueKey(tier), nowMs, limit)
  return { taken: entriesOf(flat), nextMs: next === '' ? null : Number(next) }
}

/** Makes recipients ready at their sites and tells the other outbound processes, unless they know. */
export async function addReady(redis: Redis, bySite: ReadonlyMap<string, readonly ReadyEntry[]>, isNews = true): Promise<void> {
  const pipeline = redis.pipeline()
  for (const [site, entries] of bySite) {
    for (const tier of TIER_NAMES) {
      const mine = entries.filter((entry) => entry.tier === tier)
      if (mine.length > 0) pipeline.zadd(readyKey(site, tier), ...mine.flatMap((entry) => [entry.dueMs, entry.member]))
    }
    pipeline.zadd(SITES_KEY, Date.now(), site)
    if (isNews) pipeline.publish(READY_CHANNEL, site)
  }
  const failure = (await pipeline.exec())?.find(([error]) => error !== null)?.[0]
  if (failure) throw failure
}

/** Claims ready recipients of a site, strictly by tier: up to `instant` of the highest, up to `others` of all the rest together. */
export async function claimReady(redis: Redis, site: string, room: { readonly instant: number; readonly others: number }): Promise<ReadyEntry[]> {
  const lists = await scripted(redis).claimReady(...TIER_NAMES.map((tier) => readyKey(site, tier)), String(room.instant), String(room.others))
  return lists.flatMap((flat, rank) => entriesOf(flat).map((entry) => ({ ...entry, tier: TIER_NAMES[rank] ?? 'bulk' })))
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
