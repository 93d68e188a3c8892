/**
 * The share of one process in a throttle, agreed with all other processes in Redis: connections, and tokens of the
 * rates. One script on one key, so it works on a Redis Cluster, and two processes that request at the same time never
 * get the same connection.
 *
 * A share is reserved for a few seconds, and each request renews it; a process that died renews no more, and its
 * share becomes free. Connections that a process still uses stay reserved after its share shrank, so the sum never
 * exceeds the limit while shares move. Some connections are reserved for instant mail of any process. Tokens come in
 * blocks and are not returned: an unused token is lost, never used twice. Redis away: the request fails, and the
 * process goes on with its even part of the limit (`throttle.ts`).
 */
import type { Redis } from '#src/stores/redis.ts'
import type { LearnedLimit } from '#src/shaping/learned-limits.ts'
import type { Bucket } from '#src/shaping/rate-syntax.ts'

/**
 * How long Redis reserves a share, and how long its owner uses it without a renewal: less, so that no two use the same.
 */
const RESERVED_MS = 5000
export const SHARE_VALID_MS = 4000
/** After Redis lost the shares, each process keeps what it uses and gets no more, until all have renewed. */
const REBUILD_MS = 1500
/** The key of an unused throttle expires after this; PostgreSQL stores the learned limit too. */
const RETENTION_MS = 3_600_000

export interface ShareRequest {
  readonly process: string
  /** The connection limit of the shaping file. */
  readonly limit: number
  /** Connections that are open or being opened, and the part of them that carries mail other than instant mail. */
  readonly used: { readonly all: number; readonly others: number }
  readonly demand: { readonly instant: number; readonly others: number }
  /** The limit that this process knows; used where Redis has none. */
  readonly learned: LearnedLimit
  /** The version that `learned` replaces; null: it replaces nothing. */
  readonly replacesVersion: number | null
  /** The version that this process knows; 0: its first request. */
  readonly version: number
  readonly messages: TokenRequest
  readonly connections: TokenRequest
}

export interface TokenRequest {
  readonly count: number
  /** Null: no such rate limit. */
  readonly bucket: Bucket | null
}

export interface ShareGrant {
  readonly instant: number
  readonly others: number
  /** How many processes have a share, this one included. */
  readonly processes: number
  readonly learned: LearnedLimit
  readonly version: number
  readonly messages: number
  readonly connections: number
  /** Time until the next token, where one was requested and none was left. */
  readonly waitMs: number
}

/**
 * KEYS the throttle; ARGV process, limit, used, used by others, demand for instant, demand for others, learned,
 * slowed at, replaced version or '', then count, size and refill per ms of messages and of connections, the known
 * version. Fields: p:<process> = reserved for instant, reserved for others, demand for others, expiry.
 */
const SHARE = `
local key, me = KEYS[1], 'p:' .. ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all = redis.call('HGETALL', key)
local field, peers = {}, {}
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 2) == 'p:' then
    local i1, o1, w1, e1 = string.match(all[i + 1], '^(%S+) (%S+) (%S+) (%S+)$')
    if tonumber(e1) <= now then redis.call('HDEL', key, all[i])
    elseif all[i] ~= me then peers[#peers + 1] = {tonumber(i1), tonumber(o1), tonumber(w1)} end
  else field[all[i]] = all[i + 1] end
end
local learned, slowed, version = field.learned, field.slowed, tonumber(field.version or '0')
local rebuilt = tonumber(field.rebuilt or '0')
if version == 0 and tonumber(ARGV[16]) > 0 then
  rebuilt = now
  redis.call('HSET', key, 'rebuilt', now)
end
if version == 0 or tostring(version) == ARGV[9] then
  learned, slowed, version = ARGV[7], ARGV[8], version + 1
  redis.call('HSET', key, 'learned', learned, 'slowed', slowed, 'version', version)
end
local limit = math.max(1, math.floor(math.min(tonumber(ARGV[2]), tonumber(learned))))
local forInstant = limit == 1 and 0 or math.max(1, math.floor(limit / 5))
local used, usedOthers = tonumber(ARGV[3]), tonumber(ARGV[4])
local wantInstant, wantOthers = tonumber(ARGV[5]), tonumber(ARGV[6])
local pool, sharing = limit - forInstant, wantOthers > 0 and 1 or 0
for _, peer in ipairs(peers) do if peer[3] > 0 then sharing = sharing + 1 end end
local fair = math.floor(pool / math.max(1, sharing))
local claimed, reserved = 0, 0
for _, peer in ipairs(peers) do
  claimed = claimed + math.max(peer[2], math.min(peer[3], fair))
  reserved = reserved + peer[1] + peer[2]
end
local others = math.max(0, math.min(wantOthers, pool - claimed, limit - reserved))
local isRebuilding = now - rebuilt < ${REBUILD_MS}
if isRebuilding then others = math.min(others, usedOthers) end
local reservedOthers = math.max(others, usedOthers)
local instant = math.max(0, math.min(wantInstant, limit - reserved - reservedOthers))
if isRebuilding then instant = math.min(instant, math.max(0, used - reservedOthers)) end
local reservedInstant = math.max(instant, used - reservedOthers, 0)
if reservedInstant + reservedOthers + wantOthers == 0 then redis.call('HDEL', key, me)
else
  local expiry = now + ${RESERVED_MS}
  redis.call('HSET', key, me, reservedInstant .. ' ' .. reservedOthers .. ' ' .. wantOthers .. ' ' .. expiry)
end
local waitMs = 0
local function take(name, wanted, size, refill)
  if size == 0 then return 0 end
  local left, at = string.match(field[name] or '', '^(%S+) (%S+)$')
  left = math.min(size, left and left + (now - at) * refill or size)
  local got = math.min(wanted, math.floor(left))
  if got < 1 and wanted > 0 then waitMs = math.max(waitMs, math.ceil((1 - left) / refill)) end
  redis.call('HSET', key, name, (left - got) .. ' ' .. now)
  return got
end
local messages = take('messages', tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]))
local connections = take('connections', tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15]))
redis.call('PEXPIRE', key, ${RETENTION_MS})
return {instant, others, #peers + 1, learned, slowed, version, messages, connections, waitMs}`

type ScriptReply = readonly (string | number)[]

interface ScriptedRedis {
  paceShare(...args: (string | number)[]): Promise<ScriptReply>
}

function isScripted(redis: Redis): redis is Redis & ScriptedRedis {
  return 'paceShare' in redis
}

/** Sends many requests in one round trip; the grant of a failed request is null. */
export function requestShares(
  redis: Redis,
  requests: readonly { readonly key: string; readonly request: ShareRequest }[],
): Promise<(ShareGrant | null)[]> {
  if (!isScripted(redis)) redis.defineCommand('paceShare', { numberOfKeys: 1, lua: SHARE })
  if (!isScripted(redis)) throw new Error('ioredis did not define the script of quota shares')
  // sent in one turn of the event loop, they leave together; the script is sent once
  return Promise.all(
    requests.map(({ key, request }) => redis.paceShare(key, ...argumentsOf(request)).then(grantOf, () => null)),
  )
}

export function sharesKey(pace: string, source: string): string {
  return `mailstead:{pace:${pace}@${source}}`
}

function argumentsOf({
  process,
  limit,
  used,
  demand,
  learned,
  replacesVersion,
  version,
  messages,
  connections,
}: ShareRequest): (string | number)[] {
  return [
    process,
    limit,
    used.all,
    used.others,
    demand.instant,
    demand.others,
    learned.connections,
    learned.reducedAtMs,
    replacesVersion ?? '',
    ...tokensOf(messages),
    ...tokensOf(connections),
    version,
  ]
}

function tokensOf({ count, bucket }: TokenRequest): number[] {
  return bucket === null ? [0, 0, 0] : [count, bucket.size, bucket.refillPerMs]
}

function grantOf(reply: ScriptReply): ShareGrant {
  const numbers = reply.map(Number)
  const [
    instant = 0,
    others = 0,
    processes = 1,
    limit = 1,
    reducedAtMs = 0,
    version = 0,
    messages = 0,
    connections = 0,
    waitMs = 0,
  ] = numbers
  return {
    instant,
    others,
    processes,
    learned: { connections: limit, reducedAtMs },
    version,
    messages,
    connections,
    waitMs,
  }
}
