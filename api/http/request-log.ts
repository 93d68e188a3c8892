/** Gives every request an id, and records it in the metrics and in the debug log. */
import type { IncomingMessage } from 'node:http'
import { newId } from '#src/platform/id.ts'
import type { ApiContext } from './context.ts'

// An id from the client or a proxy is used only in this form, because responses and logs repeat it.
const REQUEST_ID = /^[\w.:-]{1,128}$/

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newId()
}

export interface CompletedRequest {
  readonly requestId: string
  /** The name of the route, or `none`. */
  readonly route: string
  readonly method: string
  readonly status: number
  /** By `performance.now()`. */
  readonly startedAt: number
}

export function recordRequest(
  { metrics, log }: ApiContext,
  { requestId, route, method, status, startedAt }: CompletedRequest,
): void {
  const seconds = (performance.now() - startedAt) / 1000
  metrics.observe(route, status, seconds)
  if (log.isLevelEnabled('debug')) log.debug({ requestId, route, method, status, seconds }, 'request')
}
