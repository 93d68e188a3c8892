/**
 * TLS reports (RFC 8460) that other mail servers send about our mail domains: anyone may post one without a key
 * (section 3), and the operator lists them. A post is only stored here, within limits; the inbound role parses it
 * (mta/inbound/tls-reports.ts).
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid, rateLimited, refuse } from '#src/platform/errors.ts'
import { MAX_POST_OCTETS, TLS_REPORT_ARRIVALS } from '#src/tls-reports/received-queue.ts'
import { listReceivedTlsReports, serializeTlsReport } from '#src/tls-reports/received.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp, plainResponse } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'

const post = route({
  name: 'post-tls-report',
  summary: 'Receive a TLS report about our mail domains (RFC 8460)',
  description: 'The body is the JSON report, plain or gzip, up to 64 KB. It is parsed later; a duplicate counts once.',
  method: 'POST',
  paths: ['/tls-reports'],
  access: 'public',
  accepts: ['tlsrpt'],
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { bodyStream: source, address }) => {
    const retryAfter = await TLS_REPORT_ARRIVALS.limit(ctx, ctx.attempts, address)
    if (retryAfter !== null) return rateLimited('client_rate', 'Too many reports from your network.', retryAfter)
    const raw = await readBody(source, MAX_POST_OCTETS)
    if (raw === 'too large')
      return refuse('PAYLOAD_TOO_LARGE', `The body is larger than ${MAX_POST_OCTETS} bytes. Send several reports.`)
    if (raw === 'cut' || !looksLikeReport(raw)) return invalid([{ path: '', message: 'the body is not a TLS report' }])
    const isStored = await TLS_REPORT_ARRIVALS.enqueue(ctx, { via: 'https', peer: address, raw })
    if (!isStored)
      return refuse('SERVICE_UNAVAILABLE', 'Too many reports are waiting to be parsed. Send it again later.', 600)
    return { body: { success: true, message: 'Report received.' } }
  },
})

/** Reads the body up to the limit; the rest of a larger body is not read. */
async function readBody(source: Readable, maxBytes: number): Promise<Buffer | 'too large' | 'cut'> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) return 'too large'
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return 'cut'
  }
}

/** Whether the body begins like a JSON object or like gzip. */
function looksLikeReport(raw: Buffer): boolean {
  return raw[0] === 0x7b || (raw[0] === 0x1f && raw[1] === 0x8b)
}

const count = z.int().min(0)
const nullableText = z.string().nullable()
const reportSchema = z
  .object({
    id: z.uuid(),
    organization: z.string(),
    report_id: z.string(),
    via: z.enum(['mail', 'https']),
    peer: z.string(),
    contact: nullableText,
    signer: nullableText.meta({
      description: 'the domain whose DKIM signature proves the report; null: unsigned, so anyone may have written it',
    }),
    begins_at: timestamp,
    ends_at: timestamp,
    successes: count,
    failures: count,
    policies: z.array(
      z.object({
        domain: z.string(),
        type: z.enum(['tlsa', 'sts', 'no-policy-found']),
        lines: z.array(z.string()),
        mx: z.array(z.string()),
        successes: count,
        failures: count,
        details: z.array(
          z.object({
            result: z.string(),
            count,
            sending_ip: nullableText,
            mx_host: nullableText,
            mx_helo: nullableText,
            mx_ip: nullableText,
            reason: nullableText,
            more: nullableText,
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'ReceivedTlsReport' })

const list = route({
  name: 'admin-list-tls-reports',
  summary: 'List the received TLS reports about our mail domains, newest first',
  method: 'GET',
  paths: ['/admin/tls-reports'],
  access: 'operator',
  query: z.object({
    limit: paging.shape.limit,
    cursor: paging.shape.cursor,
    failing: z.enum(['true', 'false']).default('false').meta({ description: 'true: only reports of failures' }),
  }),
  status: 200,
  response: envelope(z.object({ reports: z.array(reportSchema), ...nextCursorField })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-tls-reports', request)
    if (isRefusal(page)) return page
    const { items, next } = await listReceivedTlsReports(ctx.db, {
      ...page,
      isFailing: request.query.failing === 'true',
    })
    const data = { reports: items.map(serializeTlsReport), ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'report')}.`, data } }
  },
})

export const TLS_REPORT_ROUTES: readonly AnyRoute[] = [post, list]
