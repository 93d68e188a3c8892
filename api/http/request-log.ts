/** What every request has, however it is answered: an id, and its line in the figures and in the log. */
import type { IncomingMessage } from 'node:http'
import { newId } from '#src/platform/id.ts'
import type { ApiContext } from './context.ts'

// What a client or proxy gave to find the request again; anything else in it is not ours to repeat.
const REQUEST_ID = /^[\w.:-]{1,128}$/

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newId()
}

export interface Answered {
  readonly requestId: string
  /** The name of the route, or `none`. */
  readonly route: string
  readonly method: string
  readonly status: number
  /** By `performance.now()`. */
  readonly startedAt: number
}

export function noteAnswered(
  { metrics, log }: ApiContext,
  { requestId, route, method, status, startedAt }: Answered,
): void {
  const seconds = (performance.now() - startedAt) / 1000
  metrics.observe(route, status, seconds)
  if (log.isLevelEnabled('debug')) log.debug({ requestId, route, method, status, seconds }, 'request')
}
