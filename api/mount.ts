/**
 * The application: one outer step that every request passes (id, headers, faults, figures), the router with all routes of the table, and
 * one answer for what no route took. In a route: authorise, read, handle, answer; the body is not touched before the key is known.
 */
import { Router, type RouterContext } from '@koa/router'
import Koa from 'koa'
import { isDatabaseAway } from '#src/db.ts'
import { refuse, type Refusal } from '#src/errors.ts'
import { newId } from '#src/id.ts'
import { isRefusal, sendAnswer, sendRefusal } from './answer.ts'
import { authorise } from './authorise.ts'
import { createBodyReader, type BodyReader } from './body.ts'
import type { ApiContext } from './context.ts'
import { readInputs } from './read.ts'
import { pathsOf, type AnyRequest, type AnyRoute } from './route.ts'

interface State {
  requestId: string
  /** Of the route that took the request, for figures and the log. */
  route: string
}

export type App = Koa<State>

export function mount(ctx: ApiContext, routes: readonly AnyRoute[]): App {
  const app: App = new Koa<State>({ proxy: ctx.config.trustProxy })
  const router = new Router<State>()
  const readBody = createBodyReader(ctx.config)
  for (const spec of routes) router.register(pathsOf(spec), [spec.method], (koa: RouterContext<State>) => serve(ctx, spec, koa, readBody))
  app.use(outer(ctx)).use(router.routes()).use(refuseUnmatched)
  app.on('error', (error: unknown) => ctx.log.debug({ err: error }, 'a connection broke'))
  return app
}

async function serve(ctx: ApiContext, spec: AnyRoute, koa: RouterContext<State>, readBody: BodyReader): Promise<void> {
  koa.state.route = spec.name
  const admission = await authorise(ctx, spec, koa)
  if (!admission.ok) return sendRefusal(koa, admission.refusal)
  const read = await readInputs(spec, koa, readBody)
  if (!read.ok) return sendRefusal(koa, read.refusal)
  const { req } = koa
  const request: AnyRequest = { id: koa.state.requestId, caller: admission.caller, ...read.inputs, headers: req.headers, source: req }
  const result = await spec.handle(ctx, request)
  if (isRefusal(result)) return sendRefusal(koa, result)
  sendAnswer(koa, spec.status, result)
}

// What a client or proxy gave to find the request again; anything else in it is not ours to repeat.
const REQUEST_ID = /^[\w.:-]{1,128}$/
/** A year, as browsers ask for. */
const HSTS = 'max-age=31536000'

function outer(ctx: ApiContext): Koa.Middleware<State> {
  const isTls = ctx.config.publicUrl.startsWith('https:')
  return async (koa, next) => {
    const startedAt = performance.now()
    const given = koa.req.headers['x-request-id']
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : newId()
    koa.state.requestId = requestId
    koa.state.route = 'none'
    const { res } = koa
    res.setHeader('X-Request-Id', requestId)
    res.setHeader('X-Content-Type-Options', 'nosniff')
    res.setHeader('Cache-Control', 'no-store')
    if (isTls) res.setHeader('Strict-Transport-Security', HSTS)
    try {
      await next()
    } catch (error) {
      sendRefusal(koa, explainFault(ctx, error, koa.state))
    }
    const seconds = (performance.now() - startedAt) / 1000
    ctx.metrics.observe(koa.state.route, koa.status, seconds)
    if (ctx.log.isLevelEnabled('debug'))
      ctx.log.debug({ requestId, route: koa.state.route, method: koa.method, status: koa.status, seconds }, 'request')
  }
}

function explainFault(ctx: ApiContext, error: unknown, { requestId, route }: State): Refusal {
  if (isDatabaseAway(error)) {
    ctx.log.warn({ err: error, requestId, route }, 'PostgreSQL is away')
    return refuse('SERVICE_UNAVAILABLE', 'The service cannot store anything right now. Try again.', 2)
  }
  ctx.log.error({ err: error, requestId, route }, 'a request failed by a fault of ours')
  return refuse('INTERNAL_ERROR', `Something went wrong on our side. Try again, or report the request id ${requestId}.`)
}

const IMPLICIT_METHODS = ['OPTIONS']

/** 404; or, where the path is known, 405 (204 to OPTIONS) with the methods that it has. */
function refuseUnmatched(koa: Koa.ParameterizedContext<State, { matched?: readonly { readonly methods: readonly string[] }[] }>): void {
  const methods = new Set((koa.matched ?? []).flatMap((layer) => layer.methods))
  if (methods.size === 0) return sendRefusal(koa, refuse('NOT_FOUND', 'There is no such endpoint.'))
  const allow = [...methods, ...IMPLICIT_METHODS].join(', ')
  koa.res.setHeader('Allow', allow)
  if (koa.method === 'OPTIONS') koa.status = 204
  else sendRefusal(koa, refuse('METHOD_NOT_ALLOWED', `This endpoint has the methods ${allow}.`))
}
