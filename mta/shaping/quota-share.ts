/**
 * What one process may use of a pace, agreed with all others in Redis: connections, and tokens of the rates. One script on one key, so it
 * works on a cluster and two that ask at once never get the same.
 *
 * A share is booked for a few seconds and booked again by each ask; a process that died books no more, and what it had is free again.
 * What a process still uses stays booked although it was told to use less, so the sum never goes over the limit while shares move. Some
 * connections are kept for instant mail, whoever sends it. Tokens come in blocks and are not given back: what is not used is lost, never
 * used twice. Redis away: the ask fails, and the process goes on with what is surely its own (`throttle.ts`).
 */
import type { Redis } from '#src/stores/redis.ts'
import type { Learned } from '#src/shaping/learned-limits.ts'
import type { Bucket } from '#src/shaping/rate-syntax.ts'

/** How long a share is booked, and of that, how long its owner uses it without having been told again. */
const BOOKED_MS = 5000
export const SURE_MS = 4000
/** After Redis lost what was booked everybody keeps what he uses and gets no more, until all have booked again. */
const REBUILD_MS = 1500
/** What nobody asks for is forgotten; what was learned is in PostgreSQL too. */
const KEPT_MS = 3_600_000

export interface Ask {
  readonly process: string
  /** Of the shaping file. */
  readonly limit: number
  /** Connections open or about to be, and those of them that carry other than instant mail. */
  readonly used: { readonly all: number; readonly others: number }
  readonly wanted: { readonly instant: number; readonly others: number }
  /** What we know; taken where Redis knows nothing. */
  readonly learned: Learned
  /** The version that `learned` changes; null changes nothing. */
  readonly replaces: number | null
  /** The version that we know; 0 = we never asked. */
  readonly version: number
  readonly messages: TokenAsk
  readonly connections: TokenAsk
}

export interface TokenAsk {
  readonly wanted: number
  /** Null = no such limit. */
  readonly bucket: Bucket | null
}

export interface Grant {
  readonly instant: number
  readonly others: number
  /** That have a part in this pace, with us. */
  readonly processes: number
  readonly learned: Learned
  readonly version: number
  readonly messages: number
  readonly connections: number
  /** Until the next token, where one was wanted and there was none. */
  readonly waitMs: number
}

/**
 * KEYS the pace; ARGV process, limit, used, used by others, wanted for instant, wanted for others, learned, slowed at, replaces or '', then
 * wanted, size and refill per ms of messages and of connections, the version we know. Fields: p:<process> = booked for instant, for
 * others, wanted for others, end.
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
local reserve = limit == 1 and 0 or math.max(1, math.floor(limit / 5))
local used, usedOthers, wantInstant, wantOthers = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local pool, sharing = limit - reserve, wantOthers > 0 and 1 or 0
for _, peer in ipairs(peers) do if peer[3] > 0 then sharing = sharing + 1 end end
local fair = math.floor(pool / math.max(1, sharing))
local claimed, booked = 0, 0
for _, peer in ipairs(peers) do
  claimed = claimed + math.max(peer[2], math.min(peer[3], fair))
  booked = booked + peer[1] + peer[2]
end
local others = math.max(0, math.min(wantOthers, pool - claimed, limit - booked))
local isRebuilding = now - rebuilt < ${REBUILD_MS}
if isRebuilding then others = math.min(others, usedOthers) end
local bookedOthers = math.max(others, usedOthers)
local instant = math.max(0, math.min(wantInstant, limit - booked - bookedOthers))
if isRebuilding then instant = math.min(instant, math.max(0, used - bookedOthers)) end
local bookedInstant = math.max(instant, used - bookedOthers, 0)
if bookedInstant + bookedOthers + wantOthers == 0 then redis.call('HDEL', key, me)
else redis.call('HSET', key, me, bookedInstant .. ' ' .. bookedOthers .. ' ' .. wantOthers .. ' ' .. (now + ${BOOKED_MS})) end
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
redis.call('PEXPIRE', key, ${KEPT_MS})
return {instant, others, #peers + 1, learned, slowed, version, messages, connections, waitMs}`

type Numbers = readonly (string | number)[]

interface Scripted {
  paceShare(...args: (string | number)[]): Promise<Numbers>
}

function isScripted(redis: Redis): redis is Redis & Scripted {
  return 'paceShare' in redis
}

/** Asks many in one round trip; what could not be asked is null. */
export function askShares(
  redis: Redis,
  asks: readonly { readonly key: string; readonly ask: Ask }[],
): Promise<(Grant | null)[]> {
  if (!isScripted(redis)) redis.defineCommand('paceShare', { numberOfKeys: 1, lua: SHARE })
  if (!isScripted(redis)) throw new Error('ioredis did not define the script')
  // asked in one turn of the event loop, they leave together; the script is sent once
  return Promise.all(asks.map(({ key, ask }) => redis.paceShare(key, ...argumentsOf(ask)).then(grantOf, () => null)))
}

export function sharesKey(pace: string, source: string): string {
  return `mailstead:{pace:${pace}@${source}}`
}

function argumentsOf({
  process,
  limit,
  used,
  wanted,
  learned,
  replaces,
  version,
  messages,
  connections,
}: Ask): (string | number)[] {
  return [
    process,
    limit,
    used.all,
    used.others,
    wanted.instant,
    wanted.others,
    learned.connections,
    learned.slowedAtMs,
    replaces ?? '',
    ...tokensOf(messages),
    ...tokensOf(connections),
    version,
  ]
}

function tokensOf({ wanted, bucket }: TokenAsk): number[] {
  return bucket === null ? [0, 0, 0] : [wanted, bucket.size, bucket.refillPerMs]
}

function grantOf(reply: Numbers): Grant {
  const numbers = reply.map(Number)
  const [
    instant = 0,
    others = 0,
    processes = 1,
    limit = 1,
    slowedAtMs = 0,
    version = 0,
    messages = 0,
    connections = 0,
    waitMs = 0,
  ] = numbers
  return {
    instant,
    others,
    processes,
    learned: { connections: limit, slowedAtMs },
    version,
    messages,
    connections,
    waitMs,
  }
}
