/**
 * A word to the workers that somebody in an automation is due, so that nobody waits for their next look. Lost when Redis is away: they look
 * by themselves.
 */
import { AUTOMATIONS_CHANNEL } from '#src/queue/keys.ts'
import type { Redis } from '#src/stores/redis.ts'

/** After the commit, and without waiting. */
export function remindAutomations({ redis }: { readonly redis: Redis }): void {
  redis.publish(AUTOMATIONS_CHANNEL, '').catch(() => undefined)
}
