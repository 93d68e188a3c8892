/**
 * The bare stack that the API is compared with: Koa, its router, koa-body and zod, without keys, limits, stores or any
 * other part of Mailstead. It parses and validates the same requests and returns JSON of the same size: for a send the
 * fields of Mailstead's response with the sender, recipients and subject of the request, for a read a sample of
 * Mailstead's response, serialized each time.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Router } from '@koa/router'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { z } from 'zod'

/** Mailstead's responses by request path, without the query. */
export type SampleResponses = Readonly<Record<string, object>>

const address = z.email()
const sendBody = z.object({
  to: z.array(address).min(1).max(50),
  cc: z.array(address).max(50).optional(),
  bcc: z.array(address).max(50).optional(),
  from: address,
  from_name: z.string().max(500).optional(),
  reply_to: address.optional(),
  subject: z.string().min(1).max(998),
  html: z.string().optional(),
  text: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  attachments: z
    .array(z.object({ filename: z.string(), content: z.string(), content_type: z.string().optional() }))
    .optional(),
  tags: z.array(z.string()).max(50).optional(),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  track_opens: z.boolean().optional(),
  track_clicks: z.boolean().optional(),
  expires_at: z.iso.datetime().optional(),
})
const readQuery = z.object({
  id: z.uuid().optional(),
  page: z.coerce.number().int().positive().default(1),
  limit: z.coerce.number().int().positive().max(1000).default(50),
  sortBy: z.string().optional(),
  sortDir: z.enum(['asc', 'desc']).default('desc'),
})

/** The methods of the bare server's process (`remote.ts`). */
export function createBareServer() {
  return { listen }
}

/** Serves the paths of the samples: POST below /send-email/, GET elsewhere. Returns the port. */
async function listen(samples: SampleResponses): Promise<number> {
  const router = new Router()
  for (const [path, sample] of Object.entries(samples)) {
    if (path.includes('/send-email/')) router.post(path, (koa) => respondToSend(koa, sample))
    else router.get(path, (koa) => respondToRead(koa, sample))
  }
  const server = new Koa().use(koaBody()).use(router.routes()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function respondToSend(koa: Koa.Context, sample: object): void {
  const result = sendBody.safeParse(koa.request.body)
  if (!result.success) return respondInvalid(koa, result.error)
  const { from, to, subject } = result.data
  koa.body = { ...sample, from, to, subject, created_at: new Date().toISOString() }
}

function respondToRead(koa: Koa.Context, sample: object): void {
  const result = readQuery.safeParse(koa.query)
  if (!result.success) return respondInvalid(koa, result.error)
  koa.body = sample
}

function respondInvalid(koa: Koa.Context, error: z.ZodError): void {
  koa.status = 400
  koa.body = { success: false, error: 'VALIDATION_ERROR', message: error.message }
}
