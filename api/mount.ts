/**
 * The application: one outer step that every request passes (id, headers, faults, figures), the router with all routes of the table, and
 * one answer for what no route took. In a route: authorise, read, handle, answer; the body is not touched before the key is known.
 */
import type { ServerResponse } from 'node:http'
import { Router, type RouterContext } from '@koa/router'
import Koa from 'koa'
import type { Caller } from '#src/auth/keys.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isRefusal, sendAnswer, sendRefusal } from '#api/http/answer.ts'
import { authorise } from '#api/http/authorise.ts'
import { createBodyReader } from '#api/http/body.ts'
import { clientAddress } from '#api/http/client-address.ts'
import type { ApiContext } from '#api/http/context.ts'
import { ANSWER_HEADERS, CROSS_ORIGIN_ANSWER, CROSS_ORIGIN_PREFLIGHT, HSTS } from '#api/http/headers.ts'
import { readInputs, type Inputs, type Readers } from '#api/http/request-reader.ts'
import { noteAnswered, requestIdOf } from '#api/http/request-log.ts'
import { pathsOf, type AnyRequest, type AnyRoute } from '#api/http/route.ts'

interface State {
  requestId: string
  /** The one that took the request. */
  spec: AnyRoute | null
  wantsPage: boolean
}

export type App = Koa<State>
type Handled = RouterContext<State>

export function mount(ctx: ApiContext, routes: readonly AnyRoute[]): App {
  const app: App = new Koa<State>()
  const router = new Router<State>()
  const readers: Readers = { readBody: createBodyReader(ctx.config), largeBodies: ctx.largeBodies }
  for (const spec of routes)
    router.register(pathsOf(spec), [spec.method], (koa: Handled) => serve(ctx, spec, koa, readers))
  app
    .use(outer(ctx))
    .use(directly(router, routes, (spec, koa) => serve(ctx, spec, koa, readers)))
    .use(router.routes())
    .use(refuseUnmatched(routes))
  app.on('error', (error: unknown) => ctx.log.debug({ err: error }, 'a connection broke'))
  return app
}

/** What makes more of a path than its words. */
const PATTERN = /[:*{]/

/**
 * Most requests name a path word for word: these are found in a map, where the router tries one path after the other. Only where the router
 * would choose the same; everything else (parameters, other spellings, other methods) is the router's.
 */
function directly(
  router: Router<State>,
  routes: readonly AnyRoute[],
  take: (spec: AnyRoute, koa: Handled) => Promise<void>,
): Koa.Middleware<State> {
  const known = new Map<string, Map<string, AnyRoute>>()
  for (const spec of routes) {
    const ofMethod = known.get(spec.method) ?? new Map<string, AnyRoute>()
    known.set(spec.method, ofMethod)
    const plain = pathsOf(spec).filter((path) => !PATTERN.test(path))
    for (const path of plain)
      if (router.match(path, spec.method).pathAndMethod[0]?.path === path) ofMethod.set(path, spec)
  }
  return (koa, next) => {
    const spec = known.get(koa.method)?.get(koa.path)
    return spec === undefined ? next() : take(spec, Object.assign(koa, { params: {} }) as Handled)
  }
}

async function serve(ctx: ApiContext, spec: AnyRoute, koa: Handled, readers: Readers): Promise<void> {
  koa.state.spec = spec
  koa.state.wantsPage = spec.refusalPage !== undefined && isBrowser(koa)
  if (spec.isOpenToSites === true) setHeaders(koa, CROSS_ORIGIN_ANSWER)
  const admission = await authorise(ctx, spec, koa)
  if (!admission.ok) return sendRefused(ctx, koa, admission.refusal)
  const read = await readInputs(spec, koa, readers)
  if (!read.ok) return sendRefused(ctx, koa, read.refusal, read.body)
  const request = requestOf(ctx, koa, admission.caller, read.inputs)
  const result = await spec.handle(ctx, request)
  if (isRefusal(result)) return sendRefused(ctx, koa, result, request.body)
  sendAnswer(koa, spec.status, result)
}

function requestOf(ctx: ApiContext, koa: Handled, caller: Caller | null, inputs: Inputs): AnyRequest {
  const { req, state } = koa
  const address = clientAddress(req, ctx.config.trustProxy)
  return {
    id: state.requestId,
    caller,
    ...inputs,
    headers: req.headers,
    address,
    isHead: req.method === 'HEAD',
    wantsPage: state.wantsPage,
    source: req,
    get gone() {
      return goneSignal(koa.res)
    },
  }
}

function goneSignal(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (res.destroyed) controller.abort()
  else res.once('close', () => controller.abort())
  return controller.signal
}

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Asked before anything is read. A program that posts JSON is answered in JSON; for the rest, Accept decides, and the page comes first. */
function isBrowser(koa: Handled): boolean {
  if (koa.method === 'POST' && !FORM.test(koa.req.headers['content-type'] ?? '')) return false
  return koa.accepts('html', 'json') === 'html'
}

/** A refusal in the form that the client understands. */
async function sendRefused(
  ctx: ApiContext,
  koa: Koa.ParameterizedContext<State>,
  refusal: Refusal,
  body?: unknown,
): Promise<void> {
  const { spec, wantsPage } = koa.state
  if (spec?.refusalPage === undefined || !wantsPage) return sendRefusal(koa, refusal)
  const params = (koa['params'] ?? {}) as Record<string, string>
  sendRefusal(koa, refusal, await spec.refusalPage(ctx, refusal, { params, body }))
}

function outer(ctx: ApiContext): Koa.Middleware<State> {
  const isTls = ctx.config.publicUrl.startsWith('https:')
  return async (koa, next) => {
    const startedAt = performance.now()
    const requestId = requestIdOf(koa.req)
    Object.assign(koa.state, { requestId, spec: null, wantsPage: false })
    koa.res.setHeader('X-Request-Id', requestId)
    setHeaders(koa, ANSWER_HEADERS)
    if (isTls) koa.res.setHeader('Strict-Transport-Security', HSTS)
    try {
      // what is thrown by the page of a refusal ends as the page of a fault, which asks nobody
      await next().catch((error: unknown) => sendRefused(ctx, koa, explainFault(ctx, error, koa.state)))
    } catch (error) {
      sendRefusal(koa, explainFault(ctx, error, koa.state))
    }
    noteAnswered(ctx, { requestId, route: nameOf(koa.state), method: koa.method, status: koa.status, startedAt })
  }
}

function setHeaders(koa: { readonly res: ServerResponse }, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) koa.res.setHeader(name, headers[name] ?? '')
}

/** For figures and the log. */
function nameOf({ spec }: State): string {
  return spec === null ? 'none' : spec.name
}

function explainFault(ctx: ApiContext, error: unknown, state: State): Refusal {
  const { requestId } = state
  const route = nameOf(state)
  if (isDatabaseAway(error)) {
    ctx.log.warn({ err: error, requestId, route }, 'PostgreSQL is away')
    return refuse('SERVICE_UNAVAILABLE', 'The service cannot store anything right now. Try again.', 2)
  }
  ctx.log.error({ err: error, requestId, route }, 'a request failed by a fault of ours')
  return refuse('INTERNAL_ERROR', `Something went wrong on our side. Try again, or report the request id ${requestId}.`)
}

const IMPLICIT_METHODS = ['OPTIONS']

interface Unmatched {
  /** Set by the router: what the path fits. */
  matched?: readonly { readonly path: string | RegExp; readonly methods: readonly string[] }[]
}

/** 404; or, where the path is known, 405 (204 to OPTIONS, which asks for a program in a browser) with the methods that it has. */
function refuseUnmatched(routes: readonly AnyRoute[]): (koa: Koa.ParameterizedContext<State, Unmatched>) => void {
  const open = new Set<string | RegExp>(routes.filter((spec) => spec.isOpenToSites === true).flatMap(pathsOf))
  return (koa) => {
    const layers = koa.matched ?? []
    if (layers.length === 0) return sendRefusal(koa, refuse('NOT_FOUND', 'There is no such endpoint.'))
    const allow = [...new Set(layers.flatMap(({ methods }) => methods)), ...IMPLICIT_METHODS].join(', ')
    koa.res.setHeader('Allow', allow)
    if (koa.method !== 'OPTIONS')
      return sendRefusal(koa, refuse('METHOD_NOT_ALLOWED', `This endpoint has the methods ${allow}.`))
    if (layers.some(({ path }) => open.has(path))) setHeaders(koa, CROSS_ORIGIN_PREFLIGHT)
    koa.status = 204
  }
}
