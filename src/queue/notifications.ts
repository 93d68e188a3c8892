/**
 * What a commit has to tell through Redis: to the webhook sender, and to those who wait for the events of a workspace. One message for a
 * whole batch. Lost when Redis is away: the sender and the waiters look by themselves then.
 */
import { EVENTS_CHANNEL, WEBHOOKS_CHANNEL } from './keys.ts'
import type { Redis } from '#src/stores/redis.ts'

export interface CommitNotifications {
  /** A webhook waits for one of the events. */
  readonly hasDeliveries: boolean
  /** Whose events were stored, each once. */
  readonly workspaces: readonly string[]
}

export const NO_NOTIFICATIONS: CommitNotifications = { hasDeliveries: false, workspaces: [] }

/** Adds to a pipeline that goes out after the commit. */
export function addNotifications(pipeline: ReturnType<Redis['pipeline']>, { hasDeliveries, workspaces }: CommitNotifications): void {
  if (hasDeliveries) pipeline.publish(WEBHOOKS_CHANNEL, '')
  if (workspaces.length > 0) pipeline.publish(EVENTS_CHANNEL, workspaces.join(','))
}

/** After the commit, and without waiting. */
export function publishNotifications({ redis }: { readonly redis: Redis }, notifications: CommitNotifications): void {
  if (!notifications.hasDeliveries && notifications.workspaces.length === 0) return
  const pipeline = redis.pipeline()
  addNotifications(pipeline, notifications)
  pipeline.exec().catch(() => undefined)
}
