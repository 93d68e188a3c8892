/**
 * Notifies the workers that an enrolment is due, so that it does not wait for the next poll. The notification is lost
 * if Redis is unavailable; the workers poll anyway.
 */
import { AUTOMATIONS_CHANNEL } from '#src/queue/keys.ts'
import type { Redis } from '#src/stores/redis.ts'

/** Call after the commit; does not wait for Redis. */
export function wakeAutomationWorkers({ redis }: { readonly redis: Redis }): void {
  redis.publish(AUTOMATIONS_CHANNEL, '').catch(() => undefined)
}
