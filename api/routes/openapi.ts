/** GET /openapi.json: the description of the table of routes, made at the first request and kept. */
import { z } from 'zod'
import type { ApiContext } from '#api/context.ts'
import { NOT_MODIFIED, REVALIDATE, serve, tag, type TaggedText } from '#api/etag.ts'
import { describe } from '#api/openapi.ts'
import { route, type AnyRoute } from '#api/route.ts'

/** `table` is asked when the description is: this route is in it. */
export function openapiRoute(table: () => readonly AnyRoute[]): AnyRoute {
  const made = new WeakMap<ApiContext, TaggedText>()
  return route({
    name: 'openapi',
    summary: 'This description',
    method: 'GET',
    paths: ['/openapi.json'],
    atRoot: true,
    access: 'public',
    status: 200,
    answer: z.looseObject({ openapi: z.string() }).meta({ id: 'OpenapiDocument', description: 'OpenAPI 3.1' }),
    further: NOT_MODIFIED,
    errors: [],
    handle: (ctx, { headers }) => {
      const known = made.get(ctx) ?? tag(JSON.stringify(describe(table(), ctx.config.publicUrl)), 'application/json; charset=utf-8')
      made.set(ctx, known)
      return Promise.resolve(serve(known, headers, REVALIDATE))
    },
  })
}
