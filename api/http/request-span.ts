/**
 * The span of an HTTP request, which begins its trace in this installation. A `traceparent` is read only from a client
 * with a valid key, and `isSampled` decides about the recording. The span has the pattern of the path, never the path
 * or the query: they contain tokens and addresses. Requests that no route serves have no span.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'
import type { OpenSpan, Tracer } from '#src/traces/tracer.ts'
import { firstPathOf, type AnyRoute } from './route.ts'

export interface TracedRequest {
  readonly spec: AnyRoute
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  /** The workspace of a valid key; null without one. */
  readonly workspaceId: string | null
  /** By `performance.now()`. */
  readonly startedAt: number
}

/** Null if the trace is not recorded. */
export function startRequestSpan(
  tracer: Tracer,
  { spec, headers, requestId, workspaceId, startedAt }: TracedRequest,
): OpenSpan | null {
  const caller = workspaceId === null ? undefined : headers['traceparent']
  const path = firstPathOf(spec)
  const attributes = {
    'http.request.method': spec.method,
    'http.route': path,
    'mailstead.request.id': requestId,
    'mailstead.workspace.id': workspaceId,
  }
  const span = { name: `${spec.method} ${path}`, kind: 'server', attributes, startedAt } as const
  return tracer.startTrace(span, typeof caller === 'string' ? caller : null)
}

/** A response of 5xx is an error of this server; 4xx are not (OpenTelemetry, HTTP spans). */
export function endRequestSpan(span: OpenSpan, status: number): void {
  const attributes = { 'http.response.status_code': status }
  if (status < 500) return span.end({ attributes })
  span.end({ attributes: { ...attributes, 'error.type': String(status) }, error: nameOf(status) })
}

function nameOf(status: number): string {
  const codes = Object.keys(ERRORS) as ErrorCode[]
  return codes.find((code) => ERRORS[code].status === status) ?? String(status)
}
