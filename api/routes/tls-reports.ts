/**
 * Reports of others on TLS with our mail domains: posted by anybody (RFC 8460 3), who needs no key, and listed for the operator. A post is
 * only stored here, within bounds; the inbound role reads it (mta/inbound/tls-reports.ts).
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid, refuse } from '#src/platform/errors.ts'
import { MAX_POST_OCTETS, paceTlsReports, takeTlsReport } from '#src/tls-reports/received-queue.ts'
import { listReceived, tellTlsReport } from '#src/tls-reports/received.ts'
import { paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, plainAnswer } from '#api/http/answer-shapes.ts'

const post = route({
  name: 'post-tls-report',
  summary: 'A report on TLS with our mail domains (RFC 8460), by whoever sends mail to them',
  description: 'The report as JSON, packed or not, up to 64 KB. It is read later; the same one again counts once.',
  method: 'POST',
  paths: ['/tls-reports'],
  access: 'public',
  accepts: ['tlsrpt'],
  status: 200,
  answer: plainAnswer,
  errors: ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { source, address }) => {
    const retryAfter = await paceTlsReports(ctx, ctx.attempts, address)
    if (retryAfter !== null) return refuse('RATE_LIMITED', 'Too many reports from your network.', retryAfter)
    const raw = await collect(source, MAX_POST_OCTETS)
    if (raw === 'too large') return refuse('PAYLOAD_TOO_LARGE', `The body is larger than ${MAX_POST_OCTETS} bytes.`)
    if (raw === 'cut' || !isReport(raw)) return invalid([{ path: '', message: 'the body is no report' }])
    const isTaken = await takeTlsReport(ctx, { via: 'https', peer: address, raw })
    if (!isTaken) return refuse('SERVICE_UNAVAILABLE', 'Too many reports wait to be read.', 600)
    return { body: { success: true, message: 'The report was taken.' } }
  },
})

/** What is left of a body that is too large is not read. */
async function collect(source: Readable, most: number): Promise<Buffer | 'too large' | 'cut'> {
  const chunks: Buffer[] = []
  let octets = 0
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      octets += chunk.length
      if (octets > most) return 'too large'
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return 'cut'
  }
}

/** JSON of an object, or gzip. */
function isReport(raw: Buffer): boolean {
  return raw[0] === 0x7b || (raw[0] === 0x1f && raw[1] === 0x8b)
}

const count = z.int().min(0)
const maybe = z.string().nullable()
const reportShape = z
  .object({
    id: z.uuid(),
    organization: z.string(),
    report_id: z.string(),
    via: z.enum(['mail', 'https']),
    peer: z.string(),
    contact: maybe,
    signer: maybe.meta({
      description: "the domain whose signature proves it; null: nobody's, so that anybody may have written it",
    }),
    begins_at: moment,
    ends_at: moment,
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
            sending_ip: maybe,
            mx_host: maybe,
            mx_helo: maybe,
            mx_ip: maybe,
            reason: maybe,
            more: maybe,
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'ReceivedTlsReport' })

const list = route({
  name: 'admin-list-tls-reports',
  summary: 'Reports of others on TLS with our mail domains, the newest first',
  method: 'GET',
  paths: ['/admin/tls-reports'],
  access: 'operator',
  query: z.object({
    limit: paging.shape.limit,
    failing: z.enum(['true', 'false']).default('false').meta({ description: 'true: only those that tell of failures' }),
  }),
  status: 200,
  answer: enveloped(z.object({ reports: z.array(reportShape) })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query: { limit, failing } }) => {
    const reports = await listReceived(ctx.db, { isFailing: failing === 'true', limit })
    return {
      body: { success: true, message: `${reports.length} reports.`, data: { reports: reports.map(tellTlsReport) } },
    }
  },
})

export const TLS_REPORT_ROUTES: readonly AnyRoute[] = [post, list]
