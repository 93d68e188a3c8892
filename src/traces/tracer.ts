/**
 * Traces of mail: from the request or SMTP transaction to the SMTP attempts and webhooks of its message. A span is
 * named and described by the semantic conventions of OpenTelemetry. Without OTEL_EXPORTER_OTLP_ENDPOINT there is no
 * tracer, and its library is not loaded.
 *
 * Spans wait in a bounded queue and are lost if the process dies, the collector is away, or it is too slow: mail never
 * waits for them. A span belongs to the trace of its parent, and only recorded traces have spans.
 */
import type { Config } from '#config/load.ts'
import type { Log } from '#src/platform/log.ts'

export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>

/** As in OpenTelemetry: `server` and `consumer` accept work, `client` and `producer` pass it on. */
export type SpanKindName = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

export interface SpanStart {
  /** Few different ones: no ids, no addresses. */
  readonly name: string
  readonly kind: SpanKindName
  /** Missing values are left out. */
  readonly attributes?: SpanAttributes
  /** By `performance.now()`; by default now. */
  readonly startedAt?: number
}

export interface SpanEnd {
  readonly attributes?: SpanAttributes
  /** What failed; without it, nothing did. */
  readonly error?: string
}

/** A span that has begun. */
export interface OpenSpan {
  /** For spans that follow it, in any process. */
  readonly traceparent: string
  end(result?: SpanEnd): void
}

export interface Tracer {
  /**
   * Begins the first span of a request or transaction in this installation. Null if its trace is not recorded.
   * @param caller the traceparent that a client with a valid key sent; anything invalid counts as missing
   */
  startTrace(span: SpanStart, caller: string | null): OpenSpan | null
  /** Begins a span that follows another one. */
  startSpan(span: SpanStart, parent: string): OpenSpan
  /** Exports what waits. May take as long as a request to the collector. */
  stop(): Promise<void>
}

export interface TracerContext {
  readonly config: Pick<
    Config,
    'otlpEndpoint' | 'otlpHeaders' | 'tracesSampler' | 'traceRatio' | 'traceResource' | 'logAddressKey' | 'nodeName'
  >
  readonly log: Log
}

/** Null while traces are off. */
export async function openTracer(ctx: TracerContext, process: string): Promise<Tracer | null> {
  if (ctx.config.otlpEndpoint === null) return null
  const { createOtlpTracer } = await import('./otlp-tracer.ts')
  return createOtlpTracer(ctx, process, ctx.config.otlpEndpoint)
}

/** Runs work within a span that follows `parent`; without a parent or a tracer, the work alone. */
export async function traced<T>(
  tracer: Tracer | null,
  { parent, ...span }: SpanStart & { readonly parent: string | null | undefined },
  {
    work,
    describe,
  }: { readonly work: (span: OpenSpan | null) => Promise<T>; readonly describe?: (result: T) => SpanEnd },
): Promise<T> {
  if (tracer === null || parent === null || parent === undefined) return work(null)
  const open = tracer.startSpan(span, parent)
  try {
    const result = await work(open)
    open.end(describe?.(result))
    return result
  } catch (error) {
    open.end({ error: error instanceof Error ? error.message : String(error) })
    throw error
  }
}
