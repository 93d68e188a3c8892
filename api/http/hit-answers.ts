/**
 * Open pixels and tracked links, answered before the application is asked. After a campaign there are more of them than of all else, and
 * they need neither key nor body nor router: with those each cost twice as much. Taken here is what is plainly ours, a GET of a path with a
 * token that we made; all else goes the usual way, whose routes (routes/tracking.ts) answer the same.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HitRef } from '#src/tracking/tokens.ts'
import type { LinkHit } from '#src/tracking/hit-handler.ts'
import { clientAddress } from './client-address.ts'
import type { ApiContext } from './context.ts'
import { ANSWER_HEADERS, HSTS } from './headers.ts'
import { noteAnswered, requestIdOf } from './request-log.ts'

/** One transparent pixel. */
export const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** Mail is read in pages of other sites. */
export const PIXEL_HEADERS = { 'Cross-Origin-Resource-Policy': 'cross-origin', 'X-Robots-Tag': 'noindex' } as const
export const LINK_HEADERS = { 'X-Robots-Tag': 'noindex' } as const

/** True where the request is taken. */
export type HitAnswers = (req: IncomingMessage, res: ServerResponse) => boolean

/** A path as we write it: nothing is encoded, nothing asked beside it. */
const OPEN = /^\/o\/([\w-]+)$/
const CLICK = /^\/c\/([\w-]+)\/([\w-]+)$/
// sent in one piece with its headers, which bytes are not
const PIXEL_TEXT = PIXEL.toString('latin1')

export function createHitAnswers(ctx: ApiContext): HitAnswers {
  const common = {
    ...ANSWER_HEADERS,
    ...(ctx.config.publicUrl.startsWith('https:') ? { 'Strict-Transport-Security': HSTS } : {}),
  }
  const pixelHeaders = flat({
    ...common,
    ...PIXEL_HEADERS,
    'Content-Type': 'image/gif',
    'Content-Length': String(PIXEL.length),
  })
  const linkHeaders = flat({ ...common, ...LINK_HEADERS, 'Content-Length': '0' })

  async function answer(req: IncomingMessage, res: ServerResponse, hit: HitRef | LinkHit): Promise<void> {
    const startedAt = performance.now()
    const requestId = requestIdOf(req)
    await ctx.tracking.take(hit, {
      headers: req.headers,
      address: clientAddress(req, ctx.config.trustProxy),
      isHead: false,
    })
    if ('url' in hit) res.writeHead(302, ['X-Request-Id', requestId, 'Location', hit.url, ...linkHeaders]).end()
    else res.writeHead(200, ['X-Request-Id', requestId, ...pixelHeaders]).end(PIXEL_TEXT, 'latin1')
    noteAnswered(ctx, {
      requestId,
      route: 'url' in hit ? 'follow-link' : 'open-pixel',
      method: 'GET',
      status: res.statusCode,
      startedAt,
    })
  }

  return (req, res) => {
    const hit = req.method === 'GET' ? readHit(ctx, req.url ?? '') : null
    if (hit === null) return false
    answer(req, res, hit).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'an open or a click failed by a fault of ours')
      res.destroy()
    })
    return true
  }
}

function readHit({ tracking }: ApiContext, path: string): HitRef | LinkHit | null {
  if (path.startsWith('/o/')) {
    const [, token] = OPEN.exec(path) ?? []
    return token === undefined ? null : tracking.readOpen(token)
  }
  if (!path.startsWith('/c/')) return null
  const [, token, coded] = CLICK.exec(path) ?? []
  return token === undefined || coded === undefined ? null : tracking.readClick(token, coded)
}

function flat(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat()
}
