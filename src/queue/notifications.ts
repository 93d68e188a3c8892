/**
 * What a commit has to tell through Redis: to the webhook sender, and to those who wait for the events of a workspace. One message for a
 * whole batch. Lost when Redis is away: the sender and the waiters look by themselves then.
 */
import { EVENTS_CHANNEL, WEBHOOKS_CHANNEL } from './keys.ts'
import type { Redis } from '#src/stores/redis.ts'

export interface News {
  /** A webhook waits for one of the events. */
  readonly hasDeliveries: boolean
  /** Whose events were stored, each once. */
  readonly workspaces: readonly string[]
}

export const NO_NEWS: News = { hasDeliveries: false, workspaces: [] }

/** Adds to a pipeline that goes out after the commit. */
export function addNews(pipeline: ReturnType<Redis['pipeline']>, { hasDeliveries, workspaces }: News): void {
  if (hasDeliveries) pipeline.publish(WEBHOOKS_CHANNEL, '')
  if (workspaces.length > 0) pipeline.publish(EVENTS_CHANNEL, workspaces.join(','))
}

/** After the commit, and without waiting. */
export function announce({ redis }: { readonly redis: Redis }, news: News): void {
  if (!news.hasDeliveries && news.workspaces.length === 0) return
  const pipeline = redis.pipeline()
  addNews(pipeline, news)
  pipeline.exec().catch(() => undefined)
}
