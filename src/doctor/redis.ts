/** Checks Redis: that it can be used, that it evicts nothing, and that it keeps its data. */
import { pino } from 'pino'
import type { CodedText } from '#src/platform/coded-text.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { findRedisProblem, parseRedisInfo, type RedisInfo } from '#src/stores/redis-suitability.ts'
import {
  type CheckContext,
  type DoctorFinding,
  type DoctorCheck,
  failed,
  messageOf,
  ok,
  skipped,
  warning,
} from './check.ts'
import { doctorText } from './finding-texts.ts'

/** A connection for the checks of one run. */
interface SharedConnection {
  readonly redis: Redis
  /** Null once it can be used; otherwise why not. */
  readonly problem: Promise<string | null>
  /** INFO, read once. */
  info: Promise<RedisInfo> | null
  users: number
}

const connections = new WeakMap<CheckContext, SharedConnection>()

/** Checks that run at the same time share a connection, which is closed after the last of them. */
function acquire(context: CheckContext, url: string): SharedConnection {
  const open = connections.get(context)
  if (open !== undefined) {
    open.users++
    return open
  }
  const redis = openRedis(url, pino({ level: 'silent' }), 'inspection')
  const { promise, resolve } = Promise.withResolvers<string | null>()
  redis.once('ready', () => resolve(null))
  redis.once('error', (error: Error) => resolve(messageOf(error)))
  const shared = { redis, problem: promise, info: null, users: 1 }
  connections.set(context, shared)
  return shared
}

function release(context: CheckContext, shared: SharedConnection): void {
  if (--shared.users > 0) return
  connections.delete(context)
  shared.redis.disconnect()
}

/**
 * A check that needs Redis; the connection is that of the run, not of the process. `onUnavailable` is the finding when
 * there is none.
 */
export function withRedis(
  name: string,
  onUnavailable: (problem: CodedText) => DoctorFinding,
  run: (shared: Pick<SharedConnection, 'redis' | 'info'>, context: CheckContext) => Promise<DoctorFinding>,
): DoctorCheck {
  return {
    name,
    run: async (context) => {
      if (context.redisUrl === null) return skipped(doctorText('redis_embedded'))
      const shared = acquire(context, context.redisUrl)
      try {
        const problem = await shared.problem
        return problem === null
          ? await run(shared, context)
          : onUnavailable(doctorText('redis_unreachable', { problem }))
      } finally {
        release(context, shared)
      }
    },
  }
}

function readInfo(shared: Pick<SharedConnection, 'redis' | 'info'>): Promise<RedisInfo> {
  return (shared.info ??= shared.redis.info().then(parseRedisInfo))
}

export const REDIS = withRedis(
  'Redis',
  (problem) => failed(problem, doctorText('redis_unreachable_todo')),
  async (shared) => {
    const info = await readInfo(shared)
    // the policy has a check of its own
    const problem = findRedisProblem((field) => (field === 'maxmemory_policy' ? undefined : info(field)))
    return problem === null
      ? ok(doctorText('version', { version: info('redis_version') ?? 'undefined' }))
      : failed(problem.detail, problem.todo)
  },
)

export const REDIS_MEMORY = withRedis(
  'Redis eviction',
  () => skipped(doctorText('redis_away')),
  async (shared) => {
    const policy = (await readInfo(shared))('maxmemory_policy') ?? 'unknown'
    const problem = findRedisProblem((field) => (field === 'maxmemory_policy' ? policy : undefined))
    return problem === null ? ok(policy) : failed(problem.detail, problem.todo)
  },
)

export const REDIS_AOF = withRedis(
  'Redis persistence',
  () => skipped(doctorText('redis_away')),
  async (shared) => {
    const isOn = (await readInfo(shared))('aof_enabled') === '1'
    if (isOn) return ok(doctorText('aof'))
    return warning(doctorText('aof_missing'), doctorText('aof_missing_todo'))
  },
)
