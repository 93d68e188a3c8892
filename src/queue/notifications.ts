/**
 * Notifications of a commit through Redis: to the webhook sender, and to requests that wait for events of a workspace.
 * One message for a whole batch. They are lost while Redis is away; the sender and the waiting requests then poll.
 */
import { EVENTS_CHANNEL, WEBHOOKS_CHANNEL } from './keys.ts'
import type { Redis } from '#src/stores/redis.ts'

export interface CommitNotifications {
  /** At least one webhook delivery was created. */
  readonly hasDeliveries: boolean
  /** Workspaces with new events, each once. */
  readonly workspaces: readonly string[]
}

export const NO_NOTIFICATIONS: CommitNotifications = { hasDeliveries: false, workspaces: [] }

/** Adds the notifications to a pipeline that runs after the commit. */
export function addNotifications(
  pipeline: ReturnType<Redis['pipeline']>,
  { hasDeliveries, workspaces }: CommitNotifications,
): void {
  if (hasDeliveries) pipeline.publish(WEBHOOKS_CHANNEL, '')
  if (workspaces.length > 0) pipeline.publish(EVENTS_CHANNEL, workspaces.join(','))
}

/** Publishes after the commit, without waiting. */
export function publishNotifications({ redis }: { readonly redis: Redis }, notifications: CommitNotifications): void {
  if (!notifications.hasDeliveries && notifications.workspaces.length === 0) return
  const pipeline = redis.pipeline()
  addNotifications(pipeline, notifications)
  pipeline.exec().catch(() => undefined)
}
