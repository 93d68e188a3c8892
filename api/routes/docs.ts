/** GET /docs: the reference page, made from /openapi.json in the browser. Its files come with the service, so it works offline. */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { ASSETS, readDocsFiles, type DocsFiles } from '#api/openapi/docs-assets.ts'
import { FOREVER, NOT_MODIFIED, REVALIDATE, serve } from '#api/http/etag.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

/**
 * Scripts and styles are files of ours, nothing inline; Swagger UI draws with data: images. Calls may go to this server only, and to the
 * public address where that is another name of it.
 */
function policyFor(publicUrl: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** What is on the disk does not change while we run; a failed reading is tried again. */
function keepFiles(): () => Promise<DocsFiles> {
  let reading: Promise<DocsFiles> | null = null
  return () => {
    reading ??= readDocsFiles().catch((error: unknown) => {
      reading = null
      throw error
    })
    return reading
  }
}

const files = keepFiles()

const page = route({
  name: 'docs',
  summary: 'The reference page',
  method: 'GET',
  paths: ['/docs'],
  atRoot: true,
  access: 'public',
  status: 200,
  produces: ['text/html'],
  further: NOT_MODIFIED,
  errors: [],
  handle: async (ctx, { headers }) =>
    serve((await files()).page, headers, { ...REVALIDATE, 'Content-Security-Policy': policyFor(ctx.config.publicUrl) }),
})

const asset = route({
  name: 'docs-asset',
  summary: 'A file of the reference page',
  method: 'GET',
  paths: [`${ASSETS}/:name`],
  atRoot: true,
  access: 'public',
  params: z.object({ name: z.string() }),
  status: 200,
  produces: ['text/css', 'text/javascript'],
  further: NOT_MODIFIED,
  errors: ['NOT_FOUND'],
  handle: async (_ctx, { params, headers }) => {
    const found = (await files()).assets.get(params.name)
    return found === undefined ? refuse('NOT_FOUND', 'There is no such file.') : serve(found, headers, FOREVER)
  },
})

const redirect = route({
  name: 'docs-redirect',
  summary: 'Leads to the reference page from where people look for it',
  method: 'GET',
  paths: ['/api/docs', '/api/v1/docs', '/swagger'],
  atRoot: true,
  access: 'public',
  status: 302,
  errors: [],
  handle: () => Promise.resolve({ headers: { Location: '/docs' } }),
})

export const DOCS_ROUTES: readonly AnyRoute[] = [page, asset, redirect]
