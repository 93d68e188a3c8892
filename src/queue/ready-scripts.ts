/**
 * The scripts of the ready queues in Redis (mta/scheduling/ready-queue.ts explains them): each is atomic, and touches
 * the keys of one site. They are here so that a readiness check can run them too.
 */
import type { Redis } from '#src/stores/redis.ts'
import { TIER_NAMES } from './tiers.ts'

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

export interface ReadyScripts extends Redis {
  addReady(...args: (string | number)[]): Promise<null>
  requeueReady(...args: string[]): Promise<null>
  claimReady(...args: string[]): Promise<string[][]>
}

export function defineReadyScripts(redis: Redis): ReadyScripts {
  if (isScripted(redis)) return redis
  redis.defineCommand('claimReady', { numberOfKeys: 2 * TIER_NAMES.length, lua: CLAIM_READY })
  redis.defineCommand('addReady', { numberOfKeys: 2, lua: ADD_READY })
  redis.defineCommand('requeueReady', { numberOfKeys: 2, lua: REQUEUE })
  if (!isScripted(redis)) throw new Error('ioredis did not define the scripts of the ready queue')
  return redis
}

function isScripted(redis: Redis): redis is ReadyScripts {
  return 'addReady' in redis && 'claimReady' in redis
}
