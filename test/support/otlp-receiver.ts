/**
 * A collector of OpenTelemetry on loopback: it decodes OTLP in JSON, as the exporter sends it, and remembers all spans.
 * It can be set to misbehave.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './until.ts'

export interface ReceivedSpan {
  readonly service: string
  readonly name: string
  /** By OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Null for the first span of a trace. */
  readonly parentId: string | null
  readonly hasFailed: boolean
  readonly attributes: Readonly<Record<string, unknown>>
  readonly durationMs: number
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** Headers of the requests. */
  readonly headers: readonly NodeJS.Dict<string | string[]>[]
  /** All that was received, as text. */
  readonly text: string
  /** By default it answers 200. */
  setResponse(respond: (response: ServerResponse) => void): void
  /** Resolves with the spans for which `isIt` holds, when there are at least so many. */
  received(count: number, isIt: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan[]>
  close(): Promise<void>
}

interface OtlpValue {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly boolValue?: boolean
  readonly doubleValue?: number
}
type OtlpAttributes = readonly { readonly key: string; readonly value: OtlpValue }[]

interface OtlpSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: OtlpAttributes
  readonly status?: { readonly code?: number }
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpAttributes }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

const FAILED = 2

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const headers: NodeJS.Dict<string | string[]>[] = []
  let text = ''
  let respond = (response: ServerResponse): void => void response.writeHead(200).end('{}')
  const server = createServer((request, response) => {
    let body = ''
    request
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        body += chunk
      })
      .on('end', () => {
        text += body
        headers.push(request.headers)
        if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(body) as OtlpRequest))
        respond(response)
      })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    get text() {
      return text
    },
    setResponse: (how) => {
      respond = how
    },
    received: async (count, isIt) => {
      await until(
        () => spans.filter(isIt).length >= count,
        () => `the spans are ${JSON.stringify(spans, null, 1)}`,
      )
      return spans.filter(isIt)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

function spansOf({ resourceSpans }: OtlpRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service: String(attributesOf(resource.attributes)['service.name']),
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentId: span.parentSpanId ?? null,
        hasFailed: span.status?.code === FAILED,
        attributes: attributesOf(span.attributes),
        durationMs: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
      })),
  )
}

function attributesOf(attributes: OtlpAttributes): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  )
}
