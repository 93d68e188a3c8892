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

/**
 * A check that needs Redis; the connection is its own, and closed after it. `onUnavailable` is the finding when there
 * is none.
 */
export function withRedis(
  name: string,
  onUnavailable: (problem: CodedText) => DoctorFinding,
  run: (redis: Redis, context: CheckContext) => Promise<DoctorFinding>,
): DoctorCheck {
  return {
    name,
    run: async (context) => {
      if (context.redisUrl === null) return skipped(doctorText('redis_embedded'))
      const redis = openRedis(context.redisUrl, pino({ level: 'silent' }), 'inspection')
      try {
        const { promise, resolve } = Promise.withResolvers<string | null>()
        redis.once('ready', () => resolve(null))
        redis.once('error', (error: Error) => resolve(messageOf(error)))
        const problem = await promise
        return problem === null
          ? await run(redis, context)
          : onUnavailable(doctorText('redis_unreachable', { problem }))
      } finally {
        redis.disconnect()
      }
    },
  }
}

async function readInfo(redis: Redis): Promise<RedisInfo> {
  return parseRedisInfo(await redis.info())
}

export const REDIS = withRedis(
  'Redis',
  (problem) => failed(problem, doctorText('redis_unreachable_todo')),
  async (redis) => {
    const info = await readInfo(redis)
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
  async (redis) => {
    const policy = (await readInfo(redis))('maxmemory_policy') ?? 'unknown'
    const problem = findRedisProblem((field) => (field === 'maxmemory_policy' ? policy : undefined))
    return problem === null ? ok(policy) : failed(problem.detail, problem.todo)
  },
)

export const REDIS_AOF = withRedis(
  'Redis persistence',
  () => skipped(doctorText('redis_away')),
  async (redis) => {
    const isOn = (await readInfo(redis))('aof_enabled') === '1'
    if (isOn) return ok(doctorText('aof'))
    return warning(doctorText('aof_missing'), doctorText('aof_missing_todo'))
  },
)
