/**
 * GET /docs: the reference page, built in the browser from /openapi.json. The service delivers all of its files, so
 * it works offline.
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { ASSETS, readDocsFiles, type DocsFiles } from '#api/openapi/docs-assets.ts'
import { IMMUTABLE, NOT_MODIFIED_RESPONSE, REVALIDATE, respondTagged } from '#api/http/etag.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

/**
 * Scripts and styles are files of this service, nothing is inline; Swagger UI uses data: images. Requests may go only
 * to this server and to its public URL, which may have another host name.
 */
function contentSecurityPolicy(publicUrl: string): string {
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

/** Reads the files once: they do not change while the process runs. After an error the next request reads again. */
function createFileLoader(): () => Promise<DocsFiles> {
  let reading: Promise<DocsFiles> | null = null
  return () => {
    reading ??= readDocsFiles().catch((error: unknown) => {
      reading = null
      throw error
    })
    return reading
  }
}

const loadFiles = createFileLoader()

const page = route({
  name: 'docs',
  summary: 'Show the API reference page',
  method: 'GET',
  paths: ['/docs'],
  atRoot: true,
  access: 'public',
  status: 200,
  produces: ['text/html'],
  additionalResponses: NOT_MODIFIED_RESPONSE,
  errors: [],
  handle: async (ctx, { headers }) =>
    respondTagged((await loadFiles()).page, headers, {
      ...REVALIDATE,
      'Content-Security-Policy': contentSecurityPolicy(ctx.config.publicUrl),
    }),
})

const asset = route({
  name: 'docs-asset',
  summary: 'Get a file of the API reference page',
  method: 'GET',
  paths: [`${ASSETS}/:name`],
  atRoot: true,
  access: 'public',
  params: z.object({ name: z.string() }),
  status: 200,
  produces: ['text/css', 'text/javascript'],
  additionalResponses: NOT_MODIFIED_RESPONSE,
  errors: ['NOT_FOUND'],
  handle: async (_ctx, { params, headers }) => {
    const found = (await loadFiles()).assets.get(params.name)
    return found === undefined
      ? refuse('NOT_FOUND', 'There is no such file.')
      : respondTagged(found, headers, IMMUTABLE)
  },
})

const redirect = route({
  name: 'docs-redirect',
  summary: 'Redirect common addresses to the API reference page',
  method: 'GET',
  paths: ['/api/docs', '/api/v1/docs', '/swagger'],
  atRoot: true,
  access: 'public',
  status: 302,
  errors: [],
  handle: () => Promise.resolve({ headers: { Location: '/docs' } }),
})

export const DOCS_ROUTES: readonly AnyRoute[] = [page, asset, redirect]
