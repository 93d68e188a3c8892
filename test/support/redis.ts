/** A connection to a Redis of its own, for tests that need nothing else. */
import { openLog } from '#src/platform/log.ts'
import { openRedis, waitUntilReady, type Redis } from '#src/stores/redis.ts'
import { startRedis } from './stores.ts'

export interface OwnRedis {
  readonly redis: Redis
  close(): Promise<void>
}

export async function openOwnRedis(): Promise<OwnRedis> {
  const server = await startRedis()
  const redis = openRedis(server.url, openLog({ logLevel: 'silent' }, 'test'))
  await waitUntilReady(redis, 5000)
  return {
    redis,
    close: async () => {
      redis.disconnect()
      await server.stop()
    },
  }
}
