/**
 * The pages for developers: GET /about says what this server is, GET /docs is the API reference. Both are made here
 * from the table of routes and are complete without scripts; the service delivers all of their files, so they work
 * offline.
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { ASSETS, readDocsFiles, type DocsFiles } from '#api/openapi/docs-assets.ts'
import { buildOpenApiInSteps } from '#api/openapi/openapi.ts'
import { renderReference } from '#api/openapi/reference-page.ts'
import { renderStartPage } from '#api/openapi/start-page.ts'
import {
  IMMUTABLE,
  NOT_MODIFIED_RESPONSE,
  REVALIDATE,
  respondTagged,
  withCompression,
  type TaggedText,
} from '#api/http/etag.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { serveDashboard } from './dashboard.ts'

/** Style and script are files of this service, and nothing is inline. The pages request nothing else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const PAGE_HEADERS = { ...REVALIDATE, 'Content-Security-Policy': CONTENT_SECURITY_POLICY }
const HTML = 'text/html; charset=utf-8'

/** Makes a value at the first request: it does not change while the process runs. After an error, the next retries. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }
}

const loadFiles: () => Promise<DocsFiles> = once(readDocsFiles)

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
      ? refuse('NOT_FOUND', 'There is no such file. See /docs.')
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

const loadStartPage = once(async () => withCompression(renderStartPage((await loadFiles()).urls), HTML))

const about = route({
  name: 'about-page',
  summary: 'Show what this server is and where to go next',
  method: 'GET',
  paths: ['/about'],
  atRoot: true,
  access: 'public',
  status: 200,
  produces: ['text/html'],
  additionalResponses: NOT_MODIFIED_RESPONSE,
  errors: [],
  handle: async (_ctx, { headers }) => respondTagged(await loadStartPage(), headers, PAGE_HEADERS),
})

const start = route({
  ...about,
  name: 'start-page',
  summary: 'Show the dashboard; while it is not built, what this server is',
  paths: ['/'],
  handle: async (ctx, request) =>
    (await serveDashboard({ method: 'GET', url: '/', headers: request.headers })) ?? about.handle(ctx, request),
})

/** Calls `listRoutes` at the first request, because the table contains these routes. */
export function docsRoutes(listRoutes: () => readonly AnyRoute[]): readonly AnyRoute[] {
  const load = async ({ config }: ApiContext): Promise<TaggedText> => {
    const [document, { urls }] = await Promise.all([buildOpenApiInSteps(listRoutes(), config.publicUrl), loadFiles()])
    return withCompression(renderReference(document, urls), HTML)
  }
  const pages = new WeakMap<ApiContext, () => Promise<TaggedText>>()
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
    handle: async (ctx, { headers }) => {
      const loadPage = pages.get(ctx) ?? once(() => load(ctx))
      pages.set(ctx, loadPage)
      return respondTagged(await loadPage(), headers, PAGE_HEADERS)
    },
  })
  return [start, about, page, asset, redirect]
}
