/** GET /openapi.json: the OpenAPI document of the route table, built at the first request and cached. */
import { z } from 'zod'
import type { ApiContext } from '#api/http/context.ts'
import { NOT_MODIFIED_RESPONSE, REVALIDATE, respondTagged, withEtag, type TaggedText } from '#api/http/etag.ts'
import { buildOpenApiInSteps } from '#api/openapi/openapi.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

/** Calls `listRoutes` at the first request, because the table contains this route. */
export function openapiRoute(listRoutes: () => readonly AnyRoute[]): AnyRoute {
  const documents = new WeakMap<ApiContext, Promise<TaggedText>>()
  const build = async ({ config }: ApiContext): Promise<TaggedText> =>
    withEtag(
      JSON.stringify(await buildOpenApiInSteps(listRoutes(), config.publicUrl)),
      'application/json; charset=utf-8',
    )
  return route({
    name: 'openapi',
    summary: 'Get this OpenAPI document',
    method: 'GET',
    paths: ['/openapi.json'],
    atRoot: true,
    access: 'public',
    status: 200,
    response: z.looseObject({ openapi: z.string() }).meta({ id: 'OpenapiDocument', description: 'OpenAPI 3.1' }),
    additionalResponses: NOT_MODIFIED_RESPONSE,
    errors: [],
    handle: async (ctx, { headers }) => {
      const document = documents.get(ctx) ?? build(ctx)
      documents.set(ctx, document)
      return respondTagged(await document, headers, REVALIDATE)
    },
  })
}
