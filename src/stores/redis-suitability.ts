/**
 * What a Redis must be: one server of version 6.2 or newer that keeps what is written to it. A cluster refuses the
 * scripts of all keys but those of one slot, and a server that evicts keys loses parts of the schedule without a trace.
 * The check is made for each connection, before its first command, on the INFO that the connection itself asks for.
 */
import type { Redis } from 'ioredis'
import { textsOf, type CodedText } from '#src/platform/coded-text.ts'
import { UnsuitableStoreError } from './store-errors.ts'

/** What is wrong with a server, and what to do, by code. */
export const REDIS_TEXTS = {
  sentinel: 'this is a Redis Sentinel',
  sentinel_todo: 'set REDIS_URL to the Redis that it watches',
  cluster: 'this Redis runs in cluster mode, which Mailstead does not support',
  cluster_todo: 'set REDIS_URL to a Redis without cluster mode (cluster-enabled no)',
  old: 'version {version} is too old',
  old_todo: 'use Redis 6.2 or newer',
  evicts: 'maxmemory-policy is {policy}: Redis may evict parts of the schedule',
  evicts_todo: 'set maxmemory-policy noeviction, in redis.conf or the settings of your provider',
  replica: 'this Redis is a replica and accepts no writes',
  replica_todo: 'REDIS_URL must lead to the primary',
} as const

const redisText = textsOf('redis', REDIS_TEXTS)

export interface RedisProblem {
  /** What is wrong with the server. */
  readonly detail: CodedText
  readonly todo: CodedText
  /** It is the state of a moment, such as a failover, and waiting may help. */
  readonly isPassing?: true
}

/** Reads a field of INFO. */
export type RedisInfo = (field: string) => string | undefined

const MIN_VERSION = [6, 2] as const

const CHECKS: readonly ((info: RedisInfo) => RedisProblem | null)[] = [
  (info) =>
    info('redis_mode') === 'sentinel' ? { detail: redisText('sentinel'), todo: redisText('sentinel_todo') } : null,
  (info) =>
    info('cluster_enabled') === '1' || info('redis_mode') === 'cluster'
      ? { detail: redisText('cluster'), todo: redisText('cluster_todo') }
      : null,
  (info) => {
    const version = info('redis_version')
    const [major = 0, minor = 0] = version?.split('.').map(Number) ?? MIN_VERSION
    const isNew = major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1])
    return isNew ? null : { detail: redisText('old', { version: version ?? 'undefined' }), todo: redisText('old_todo') }
  },
  (info) => {
    const policy = info('maxmemory_policy') ?? 'noeviction'
    return policy === 'noeviction' ? null : { detail: redisText('evicts', { policy }), todo: redisText('evicts_todo') }
  },
  (info) =>
    info('role') === 'slave'
      ? { detail: redisText('replica'), todo: redisText('replica_todo'), isPassing: true }
      : null,
]

export function findRedisProblem(info: RedisInfo): RedisProblem | null {
  for (const check of CHECKS) {
    const problem = check(info)
    if (problem !== null) return problem
  }
  return null
}

/** The text of INFO by field. */
export function parseRedisInfo(text: string): RedisInfo {
  const fields = new Map(
    text.split('\r\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )
  return (field) => fields.get(field)
}

interface Connector {
  /** ioredis asks it before a connection becomes ready; false closes the connection, and another one is opened. */
  check: (info: unknown) => boolean
}

const problems = new WeakMap<Redis, RedisProblem>()

/** The problem of the server that the last connection reached; null if there is none. */
export function redisProblemOf(redis: Redis): RedisProblem | null {
  return problems.get(redis) ?? null
}

/** From now on, a connection to an unsuitable server never becomes ready, and the client emits its error. */
export function refuseUnsuitableServers(redis: Redis): void {
  const connector: unknown = Reflect.get(redis, 'connector')
  if (!isConnector(connector)) throw new Error('ioredis has no connector that checks servers')
  connector.check = (info) => {
    const problem = findRedisProblem(readerOf(info))
    if (problem === null) return problems.delete(redis) || true
    problems.set(redis, problem)
    const said = `${problem.detail.text}: ${problem.todo.text}`
    redis.emit('error', problem.isPassing === true ? new Error(said) : new UnsuitableStoreError(`Redis: ${said}`))
    return false
  }
}

function isConnector(value: unknown): value is Connector {
  return typeof value === 'object' && value !== null && 'check' in value && typeof value.check === 'function'
}

/** Without the permission for INFO there are no fields, and nothing is known against the server. */
function readerOf(info: unknown): RedisInfo {
  const fields = new Map(Object.entries(typeof info === 'object' && info !== null ? info : {}))
  return (field) => {
    const value: unknown = fields.get(field)
    return typeof value === 'string' ? value : undefined
  }
}
