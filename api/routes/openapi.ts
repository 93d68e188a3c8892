/** GET /openapi.json: the description of the table of routes, made at the first request and kept. */
import { z } from 'zod'
import type { ApiContext } from '#api/http/context.ts'
import { NOT_MODIFIED, REVALIDATE, serve, tag, type TaggedText } from '#api/http/etag.ts'
import { describeInTurns } from '#api/openapi/openapi.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

/** `table` is asked when the description is: this route is in it. */
export function openapiRoute(table: () => readonly AnyRoute[]): AnyRoute {
  const made = new WeakMap<ApiContext, Promise<TaggedText>>()
  const make = async ({ config }: ApiContext): Promise<TaggedText> =>
    tag(JSON.stringify(await describeInTurns(table(), config.publicUrl)), 'application/json; charset=utf-8')
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
    handle: async (ctx, { headers }) => {
      const making = made.get(ctx) ?? make(ctx)
      made.set(ctx, making)
      return serve(await making, headers, REVALIDATE)
    },
  })
}
