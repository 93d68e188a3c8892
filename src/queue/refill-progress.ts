/**
 * The progress of the one refill of the schedule, in Redis beside the schedule itself: which worker does it, up to
 * where it came, and how far it must repeat. A refill is requested by deleting the epoch, and ends by setting it.
 * - The worker dies: its token expires, and another worker continues at the saved position.
 * - A slow worker that lost its token may read the same slice as its successor. Only the first of the two saves it,
 * because saving names the old position, so every slice counts once and the refill always advances.
 * - A request arrives meanwhile: what was scheduled before it may be lost, so the refill goes on to the end and repeats
 * from the start up to the position that it had then. Any number of requests costs one circle after the last.
 * - Redis loses its data: the progress is lost with the schedule, and the refill starts again.
 */
import type { Redis } from '#src/stores/redis.ts'
import { DUE_CHANNEL, dueKey, EPOCH_KEY, REFILL_KEY, REFILL_OWNER_KEY } from './keys.ts'
import type { Tier } from './tiers.ts'

/**
 * A token that is not renewed for this time belongs to a dead or frozen worker. If it was only slow, one slice is read
 * twice.
 */
const TOKEN_MS = 2000
const RENEWALS_PER_TOKEN = 4

/** KEYS epoch, progress, owner; ARGV server, token, token ms, now → 'filled', 'busy' or {position, stop}. */
const BEGIN = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return 'filled' end
if not redis.call('SET', KEYS[3], ARGV[2], 'NX', 'PX', ARGV[3]) then
  if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 'busy' end
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
if redis.call('HGET', KEYS[2], 'server') ~= ARGV[1] then
  redis.call('DEL', KEYS[2])
  redis.call('HSET', KEYS[2], 'server', ARGV[1], 'position', '', 'stop', '', 'repeat', '', 'count', 0,
    'startedMs', ARGV[4])
  redis.call('SET', KEYS[1], ARGV[1] .. ' filling')
end
return redis.call('HMGET', KEYS[2], 'position', 'stop')`

/**
 * KEYS epoch, progress, owner, due set; ARGV server, from, to ('' = the end), is past the stop, added, entries,
 * channel, message → {'lost'}, {'more', position, stop} or {'filled', count, startedMs}. A new request cancels the
 * stop: the positions after it are older. The script adds the entries too: a command with few arguments, since two for
 * each recipient cost the worker more than everything else that it does.
 */
const SAVE = `
local saved = redis.call('HMGET', KEYS[2], 'server', 'position', 'repeat')
if saved[1] ~= ARGV[1] or saved[2] ~= ARGV[2] then return {'lost'} end
local entries, filled = {}, 0
for due, member in string.gmatch(ARGV[6], '(%-?%d+) ([^\\n]+)\\n') do
  entries[filled + 1], entries[filled + 2], filled = due, member, filled + 2
  if filled == 1000 then
    redis.call('ZADD', KEYS[4], unpack(entries, 1, filled))
    filled = 0
  end
end
if filled > 0 then redis.call('ZADD', KEYS[4], unpack(entries, 1, filled)) end
if ARGV[6] ~= '' then redis.call('PUBLISH', ARGV[7], ARGV[8]) end
redis.call('HINCRBY', KEYS[2], 'count', ARGV[5])
local again, isLapOver = saved[3], ARGV[3] == '' or ARGV[4] == '1'
if redis.call('GET', KEYS[1]) ~= ARGV[1] .. ' filling' then
  redis.call('SET', KEYS[1], ARGV[1] .. ' filling')
  again = ARGV[3] == '' and 'all' or ARGV[3]
  redis.call('HSET', KEYS[2], 'repeat', again, 'stop', '')
  isLapOver = ARGV[3] == ''
end
if not isLapOver then
  redis.call('HSET', KEYS[2], 'position', ARGV[3])
  return {'more', ARGV[3], redis.call('HGET', KEYS[2], 'stop')}
end
if again ~= '' then
  local stop = again == 'all' and '' or again
  redis.call('HSET', KEYS[2], 'position', '', 'stop', stop, 'repeat', '')
  return {'more', '', stop}
end
local done = redis.call('HMGET', KEYS[2], 'count', 'startedMs')
redis.call('SET', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2], KEYS[3])
return {'filled', done[1], done[2]}`

/** KEYS owner; ARGV token, token ms. */
const RENEW = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`

interface RefillScripts {
  refillBegin(...keysAndValues: (string | number)[]): Promise<'filled' | 'busy' | [position: string, stop: string]>
  refillSave(
    ...keysAndValues: (string | number)[]
  ): Promise<['lost'] | ['more', position: string, stop: string] | ['filled', count: string, startedMs: string]>
  refillRenew(...keysAndValues: (string | number)[]): Promise<null>
}

export interface RefillPart {
  /** Where to continue; '' is the start. */
  readonly position: string
  /** Where this pass ends; '' is the end of the list. */
  readonly stop: string
}

/** `more`: the part that is next. `filled`: the recipients that all workers together scheduled. */
export type RefillSaved =
  | { readonly kind: 'lost' }
  | { readonly kind: 'more'; readonly part: RefillPart }
  | { readonly kind: 'filled'; readonly count: number; readonly startedMs: number }

export interface RefillProgress {
  /** The part that this worker has to do; 'busy' if another worker is doing it; 'filled' if nothing is left to do. */
  begin(server: string, nowMs: number): Promise<RefillPart | 'busy' | 'filled'>
  /**
   * Schedules and saves a slice, both or neither; `to` is '' after the last. 'lost': another worker saved it, or Redis
   * lost the progress.
   */
  save(server: string, slice: RefillSlice): Promise<RefillSaved>
  /** Keeps the token while `work` runs. A frozen process does not renew it. */
  whileRenewing<T>(work: () => Promise<T>): Promise<T>
}

export interface RefillSlice {
  readonly from: string
  readonly to: string
  readonly isPastStop: boolean
  readonly tier: Tier
  readonly added: number
  /** Of each recipient one line: `<due ms> <member>` and a line feed. */
  readonly entries: string
  /** Whether one of them is due now. */
  readonly isDue: boolean
}

/** `token` names the worker. */
export function createRefillProgress(redis: Redis, token: string): RefillProgress {
  const scripted = defineScripts(redis)
  const keys = [EPOCH_KEY, REFILL_KEY, REFILL_OWNER_KEY]
  return {
    begin: async (server, nowMs) => {
      const found = await scripted.refillBegin(...keys, server, token, TOKEN_MS, nowMs)
      return typeof found === 'string' ? found : { position: found[0], stop: found[1] }
    },
    save: async (server, { from, to, isPastStop, tier, added, entries, isDue }) => {
      const slice = [server, from, to, isPastStop ? 1 : 0, added, entries, DUE_CHANNEL, isDue ? tier : 'later']
      const [kind, first, second] = await scripted.refillSave(...keys, dueKey(tier), ...slice)
      if (kind === 'lost') return { kind }
      return kind === 'more'
        ? { kind, part: { position: first, stop: second } }
        : { kind, count: Number(first), startedMs: Number(second) }
    },
    whileRenewing: async (work) => {
      const renew = (): void => void scripted.refillRenew(REFILL_OWNER_KEY, token, TOKEN_MS).catch(() => undefined)
      const timer = setInterval(renew, TOKEN_MS / RENEWALS_PER_TOKEN)
      try {
        return await work()
      } finally {
        clearInterval(timer)
      }
    },
  }
}

function defineScripts(redis: Redis): Redis & RefillScripts {
  if (!isScripted(redis)) {
    redis.defineCommand('refillBegin', { numberOfKeys: 3, lua: BEGIN })
    redis.defineCommand('refillSave', { numberOfKeys: 4, lua: SAVE })
    redis.defineCommand('refillRenew', { numberOfKeys: 1, lua: RENEW })
  }
  if (!isScripted(redis)) throw new Error('ioredis did not define the scripts of the refill')
  return redis
}

function isScripted(redis: Redis): redis is Redis & RefillScripts {
  return 'refillSave' in redis
}
