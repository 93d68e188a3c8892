/**
 * Answers open pixels and tracked links without koa. After a campaign these are most of all requests, and they need no
 * key, body or router; through koa each of them costs twice as much. The server passes requests here by the prefix of
 * their path. Only a GET with a valid token of an open sender is answered; the rest goes to the application, where
 * `routes/tracking.ts` gives the same responses. The pixel of a closed sender is still an image, and no open.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HitRef } from '#src/tracking/tokens.ts'
import type { LinkHit } from '#src/tracking/hit-handler.ts'
import { clientAddress } from './client-address.ts'
import type { ApiContext } from './context.ts'
import { hostedMailHost, isServedByHost } from './hosted-mail-origin.ts'
import { RESPONSE_HEADERS, HSTS, requestIdOf } from './headers.ts'
import { recordRequest } from './request-log.ts'

/** A transparent GIF of one pixel. */
export const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** Webmail embeds the pixel in pages of other sites. */
export const PIXEL_HEADERS = { 'Cross-Origin-Resource-Policy': 'cross-origin', 'X-Robots-Tag': 'noindex' } as const
export const LINK_HEADERS = { 'X-Robots-Tag': 'noindex' } as const

type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** What the paths of opens and clicks begin with. */
export const HIT_PREFIXES = ['/o/', '/c/'] as const
/** Paths as Mailstead writes them: no percent-encoding, no query. */
const OPEN = /^\/o\/([\w-]+)$/
const CLICK = /^\/c\/([\w-]+)\/([\w-]+)$/
/** As in `routes/tracking.ts`. */
const OPEN_PIXEL = { route: 'open-pixel', path: '/o/:token' } as const
const FOLLOW_LINK = { route: 'follow-link', path: '/c/:token/:url' } as const
// Node sends a string in one packet with the headers, but not a buffer
const PIXEL_TEXT = PIXEL.toString('latin1')

/** A handler for the paths of hits. It passes a request that is not a hit to `app`. */
export function createHitResponder(ctx: ApiContext, app: Handler): Handler {
  const common = {
    ...RESPONSE_HEADERS,
    ...(ctx.config.publicUrl.startsWith('https:') ? { 'Strict-Transport-Security': HSTS } : {}),
  }
  const pixelHeaders = flatten({
    ...common,
    ...PIXEL_HEADERS,
    'Content-Type': 'image/gif',
    'Content-Length': String(PIXEL.length),
  })
  const hostedHost = hostedMailHost(ctx.config)
  const linkHeaders = flatten({ ...common, ...LINK_HEADERS, 'Content-Length': '0' })

  async function answer(req: IncomingMessage, res: ServerResponse, hit: HitRef | LinkHit): Promise<void> {
    const startedAt = performance.now()
    const requestId = requestIdOf(req)
    const address = clientAddress(req, ctx.config.trustProxy)
    const isOpen = await ctx.linkPolicy.isOpen(hit)
    if (!isOpen && 'url' in hit) return app(req, res)
    if (isOpen) await ctx.tracking.record(hit, { headers: req.headers, address, isHead: false })
    if ('url' in hit) res.writeHead(302, ['X-Request-Id', requestId, 'Location', hit.url, ...linkHeaders]).end()
    else res.writeHead(200, ['X-Request-Id', requestId, ...pixelHeaders]).end(PIXEL_TEXT, 'latin1')
    recordRequest(ctx, {
      requestId,
      ...('url' in hit ? FOLLOW_LINK : OPEN_PIXEL),
      method: 'GET',
      status: res.statusCode,
      workspaceId: null,
      peer: address,
      startedAt,
    })
  }

  return (req, res) => {
    const isHit = req.method === 'GET' && isServedByHost(hostedHost, req.headers.host, req.url ?? '')
    const hit = isHit ? readHit(ctx, req.url ?? '') : null
    if (hit === null) return app(req, res)
    answer(req, res, hit).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'failed to answer an open or a click')
      res.destroy()
    })
  }
}

function readHit({ tracking }: ApiContext, path: string): HitRef | LinkHit | null {
  const [, openToken] = OPEN.exec(path) ?? []
  if (openToken !== undefined) return tracking.readOpen(openToken)
  const [, token, encodedUrl] = CLICK.exec(path) ?? []
  return token === undefined || encodedUrl === undefined ? null : tracking.readClick(token, encodedUrl)
}

function flatten(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat()
}
