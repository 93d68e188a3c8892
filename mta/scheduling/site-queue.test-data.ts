/** A site queue whose failed claims are not logged, for tests of what uses it. */
import { pino } from 'pino'
import { SiteQueue } from './site-queue.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'

export function siteQueueOf(site: string): SiteQueue {
  const claiming = createFailureBackoff(pino({ level: 'silent' }), { message: '', firstMs: 1, longestMs: 1 })
  return new SiteQueue(site, claiming)
}
