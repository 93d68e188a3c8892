/** GET /openapi.json: the description of the table of routes, made at the first request and kept. */
import { describe } from '#api/openapi.ts'
import { route, type AnyRoute } from '#api/route.ts'

/** `table` is asked when the description is: this route is in it. */
export function openapiRoute(table: () => readonly AnyRoute[]): AnyRoute {
  let text: string | null = null
  return route({
    name: 'openapi',
    summary: 'This description',
    method: 'GET',
    paths: ['/openapi.json'],
    atRoot: true,
    access: 'public',
    status: 200,
    errors: [],
    handle: (ctx) => {
      text ??= JSON.stringify(describe(table(), ctx.config.publicUrl))
      return Promise.resolve({ body: text })
    },
  })
}
