/**
 * Records each answered request: in the metrics, and as a line of the access log (level `info`). A line has the pattern
 * of the path, never the path itself: paths and queries contain tokens and addresses. ACCESS_LOG=false leaves the lines
 * out.
 */
import type { Config } from '#config/load.ts'
import type { Log } from '#src/platform/log.ts'
import type { Metrics } from './metrics.ts'
import type { AcceptedMessages } from './request-origin.ts'

export interface CompletedRequest {
  readonly requestId: string
  /** The name of the route, or `none`. */
  readonly route: string
  /** Its path, with the names of the parameters; null without a route. */
  readonly path: string | null
  readonly method: string
  readonly status: number
  /** The workspace of a valid key. */
  readonly workspaceId: string | null
  /** The client's IP address. */
  readonly peer: string
  /** By `performance.now()`. */
  readonly startedAt: number
  /** Absent where no message can be accepted. */
  readonly accepted?: AcceptedMessages
  /** Of a recorded trace. */
  readonly traceId?: string | undefined
}

interface RequestLogContext {
  readonly config: Pick<Config, 'accessLog'>
  readonly metrics: Metrics
  readonly log: Log
}

export function recordRequest(
  { config, metrics, log }: RequestLogContext,
  { requestId, route, path, method, status, workspaceId, peer, startedAt, accepted, traceId }: CompletedRequest,
): void {
  const ms = performance.now() - startedAt
  metrics.observe(route, status, ms / 1000)
  if (!config.accessLog) return
  const mail = messagesOf(accepted)
  const rounded = Math.round(ms * 10) / 10
  log.info({ requestId, traceId, ...mail, method, route, path, status, ms: rounded, workspaceId, peer }, 'request')
}

/** The id of the message that it accepted; of several, how many. */
function messagesOf({ count, first }: AcceptedMessages = NONE_ACCEPTED): {
  readonly id?: string
  readonly count?: number
} {
  if (first === null) return {}
  return count === 1 ? { id: first } : { count }
}

const NONE_ACCEPTED: AcceptedMessages = { count: 0, first: null }

/** Records a request without a route, method or id, because it was not valid HTTP. */
export function recordInvalidRequest(
  { config, metrics, log }: RequestLogContext,
  { peer, status }: Pick<CompletedRequest, 'peer' | 'status'>,
): void {
  metrics.observe('none', status, 0)
  if (config.accessLog) log.info({ route: 'none', path: null, status, workspaceId: null, peer }, 'request')
}
