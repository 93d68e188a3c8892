/**
 * The tracer that exports OTLP in JSON to a collector, with the SDK of OpenTelemetry. Loaded only while traces are on.
 * The queue is bounded and an export has a time limit, so a collector that is away or slow costs spans, not mail. With
 * LOG_ADDRESS_KEY, addresses in attributes are hashed as in the log.
 */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Span,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import { hashAddresses } from '#src/platform/log-addresses.ts'
import { softwareVersion } from '#src/platform/version.ts'
import { isSampled } from './sampling.ts'
import { formatTraceparent, parseTraceparent, type ParsedTraceparent } from './traceparent.ts'
import type { OpenSpan, SpanAttributes, SpanKindName, SpanStart, Tracer, TracerContext } from './tracer.ts'

const QUEUE = { maxQueueSize: 4096, maxExportBatchSize: 512, scheduledDelayMillis: 1000 }
const EXPORT_TIMEOUT_MS = 20_000
const MAX_ATTRIBUTE_CHARACTERS = 1024

const KINDS: Readonly<Record<SpanKindName, SpanKind>> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

export function createOtlpTracer({ config, log }: TracerContext, process: string, endpoint: string): Tracer {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: { ...config.otlpHeaders },
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'mailstead',
      'service.name': `mailstead-${process}`,
      'service.version': softwareVersion(),
      'host.name': config.nodeName,
      ...config.traceResource,
    }),
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(exporter, log),
        exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
        ...QUEUE,
      }),
    ],
  })
  const spans = provider.getTracer('mailstead', softwareVersion())
  const toText = textFilter(config.logAddressKey)
  const begin = ({ name, kind, attributes, startedAt }: SpanStart, parent: ParsedTraceparent | null): OpenSpan => {
    const options = { kind: KINDS[kind], attributes: clean(attributes, toText) }
    const timed = startedAt === undefined ? options : { ...options, startTime: startedAt }
    return openSpanOf(spans.startSpan(name, timed, contextOf(parent)), toText)
  }
  return {
    startTrace: (span, caller) => {
      const parent = caller === null ? null : parseTraceparent(caller)
      return isSampled(config, parent, Math.random()) ? begin(span, parent) : null
    },
    startSpan: (span, parent) => begin(span, parseTraceparent(parent)),
    stop: () => provider.shutdown().catch(() => undefined), // the failure is in the log
  }
}

function contextOf(parent: ParsedTraceparent | null): typeof ROOT_CONTEXT {
  if (parent === null) return ROOT_CONTEXT
  const { traceId, spanId } = parent
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
}

function openSpanOf(span: Span, toText: (text: string) => string): OpenSpan {
  return {
    traceparent: formatTraceparent(span.spanContext()),
    end: ({ attributes, error } = {}) => {
      span.setAttributes(clean(attributes, toText))
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: toText(error) })
      span.end()
    },
  }
}

function clean(attributes: SpanAttributes = {}, toText: (text: string) => string): Attributes {
  const cleaned: Attributes = {}
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) cleaned[name] = typeof value === 'string' ? toText(value) : value
  return cleaned
}

function textFilter(addressKey: string | null): (text: string) => string {
  return addressKey === null ? (text) => text : (text) => hashAddresses(addressKey, text)
}

/** Logs the first failure of a row; the spans of a failed export are lost. */
function reporting(exporter: SpanExporter, log: TracerContext['log']): SpanExporter {
  const failures = createFailureBackoff(log, {
    message: 'failed to export spans; they are lost, and mail is not affected',
    firstMs: 0,
    longestMs: 0,
  })
  return {
    export: (batch, done) =>
      exporter.export(batch, (result) => {
        if (result.error === undefined) failures.succeeded()
        else failures.failed(result.error)
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
