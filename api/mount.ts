/**
 * The koa application: an outer middleware for all requests (id, headers, errors, metrics), the router with all routes
 * of the table, and 404 or 405 for the rest. A route authorises, reads the input, calls the handler and sends the
 * response, in this order: the body is not read before the key is known. Every request is a line of the access log.
 */
import type { ServerResponse } from 'node:http'
import { Router, type RouterContext } from '@koa/router'
import Koa from 'koa'
import { isDatabaseAway } from '#src/stores/db.ts'
import { ExpiredSnapshotError } from '#src/stores/list-snapshots.ts'
import type { OpenSpan } from '#src/traces/tracer.ts'
import { refuse, type Detail, type Refusal } from '#src/platform/errors.ts'
import { isLarge, isRefusal, sendResponse, sendRefusal, withWarnings, type ErrorSource } from '#api/http/response.ts'
import { createBodyReader, refusalForGzip } from '#api/http/body-reader.ts'
import { clientAddress } from '#api/http/client-address.ts'
import { actorOf, isAudited } from '#api/http/audit.ts'
import { authorise } from '#api/http/authorise.ts'
import type { ApiContext } from '#api/http/context.ts'
import { compressResponse, GunzipError } from '#api/http/gzip.ts'
import { RESPONSE_HEADERS, CROSS_ORIGIN_HEADERS, PREFLIGHT_HEADERS, HSTS, requestIdOf } from '#api/http/headers.ts'
import { EXPIRED_CURSOR } from '#api/http/list-cursor.ts'
import { hostedMailHost, isServedByHost } from '#api/http/hosted-mail-origin.ts'
import { readInputs, type RequestInputs, type BodyReaders } from '#api/http/request-reader.ts'
import { recordRequest } from '#api/http/request-log.ts'
import { acceptorForRequest, type AcceptedMessages } from '#api/http/request-origin.ts'
import { endRequestSpan, startRequestSpan } from '#api/http/request-span.ts'
import { firstPathOf, pathsOf, type AnyRequest, type AnyRoute } from '#api/http/route.ts'
import { isStrict, STRICT_HEADERS, wantsTranslations } from '#api/http/preferences.ts'
import { serveDashboard } from '#api/routes/dashboard.ts'
import { traceIdOf } from '#src/traces/traceparent.ts'

interface RequestState {
  requestId: string
  /** The matched route. */
  spec: AnyRoute | null
  /** The client's IP address. */
  peer: string
  /** The caller's workspace, when the key is known. */
  workspaceId: string | null
  wantsPage: boolean
  /** Unknown fields of the request. */
  warnings: readonly Detail[]
  accepted: AcceptedMessages
  /** By `performance.now()`. */
  startedAt: number
  /** Null while its trace is not recorded. */
  span: OpenSpan | null
}

export type App = Koa<RequestState>
type RouteContext = RouterContext<RequestState>

export function mount(ctx: ApiContext, routes: readonly AnyRoute[]): App {
  const app: App = new Koa<RequestState>()
  const router = new Router<RequestState>()
  const readers: BodyReaders = { readBody: createBodyReader(ctx.config), largeBodies: ctx.largeBodies }
  for (const spec of routes)
    router.register(pathsOf(spec), [spec.method], (koa: RouteContext) => serveRoute(ctx, spec, koa, readers))
  app
    .use(wrapRequest(ctx))
    .use(refuseOnHostedOrigin(ctx))
    .use(matchStaticPaths(router, routes, (spec, koa) => serveRoute(ctx, spec, koa, readers)))
    .use(router.routes())
    .use(refuseUnmatched(ctx, routes))
  app.on('error', (error: unknown) => ctx.log.debug({ err: error }, 'connection lost while sending a response'))
  return app
}

/** The host of hosted mail serves nothing else. */
function refuseOnHostedOrigin(ctx: ApiContext): Koa.Middleware<RequestState> {
  const host = hostedMailHost(ctx.config)
  return (koa, next) =>
    isServedByHost(host, koa.req.headers.host, koa.path)
      ? next()
      : sendRefusal(
          koa,
          refuse('NOT_FOUND', 'This host serves only hosted mail. Use the address of the API.'),
          sourceOf(ctx, koa),
        )
}

/** Characters that make a path a pattern. */
const PATH_PATTERN = /[:*{]/

/**
 * Finds routes without parameters in a map, since the router tries one path after the other. The map has only paths for
 * which the router would choose the same route. Parameters, other spellings and other methods are left to the router.
 */
function matchStaticPaths(
  router: Router<RequestState>,
  routes: readonly AnyRoute[],
  serve: (spec: AnyRoute, koa: RouteContext) => Promise<void>,
): Koa.Middleware<RequestState> {
  const known = new Map<string, Map<string, AnyRoute>>()
  for (const spec of routes) {
    const ofMethod = known.get(spec.method) ?? new Map<string, AnyRoute>()
    known.set(spec.method, ofMethod)
    const plain = pathsOf(spec).filter((path) => !PATH_PATTERN.test(path))
    for (const path of plain)
      if (router.match(path, spec.method).pathAndMethod[0]?.path === path) ofMethod.set(path, spec)
  }
  return (koa, next) => {
    const spec = known.get(koa.method)?.get(koa.path)
    return spec === undefined ? next() : serve(spec, Object.assign(koa, { params: {} }) as RouteContext)
  }
}

async function serveRoute(ctx: ApiContext, spec: AnyRoute, koa: RouteContext, readers: BodyReaders): Promise<void> {
  koa.state.spec = spec
  koa.state.wantsPage = spec.refusalPage !== undefined && isBrowser(koa)
  if (spec.allowsCrossOrigin === true) setHeaders(koa, CROSS_ORIGIN_HEADERS)
  const authorisation = await authorise(ctx, spec, {
    id: koa.state.requestId,
    address: koa.state.peer,
    req: koa.req,
    res: koa.res,
  })
  koa.state.workspaceId = authorisation.caller?.workspaceId ?? null
  if (ctx.tracer !== null)
    koa.state.span = startRequestSpan(ctx.tracer, { ...koa.state, spec, headers: koa.req.headers })
  if (!authorisation.ok) return sendRefusalFor(ctx, koa, authorisation.refusal)
  const inputs = await readInputs(spec, koa, readers)
  koa.state.warnings = inputs.warnings
  if (spec.access !== 'public' && isStrict(koa.req.headers)) setHeaders(koa, STRICT_HEADERS)
  if (!inputs.ok) return sendRefusalFor(ctx, koa, inputs.refusal, inputs.body)
  const request = requestOf(koa, authorisation, inputs.inputs)
  const result = await spec.handle(attribute(ctx, spec, koa.state, request), request)
  if (isRefusal(result)) return sendRefusalFor(ctx, koa, result, request.body)
  sendResponse(koa, spec.status, withWarnings(result, inputs.warnings))
}

/** The context whose changes are recorded as the caller's, and whose messages as those of the request. */
function attribute(
  ctx: ApiContext,
  spec: AnyRoute,
  { requestId, peer, accepted, span }: RequestState,
  request: AnyRequest,
): ApiContext {
  if (spec.method === 'GET') return ctx
  const acceptor = acceptorForRequest(ctx.acceptor, { requestId, traceparent: span?.traceparent ?? null }, accepted)
  if (!isAudited(spec)) return { ...ctx, acceptor }
  const { caller, person, headers } = request
  const actor = actorOf(spec, { caller, person, headers, address: peer, requestId })
  return { ...ctx, acceptor, db: ctx.db.attributedTo(actor) }
}

/** Without getters: V8 makes a shape of its own for each object that a literal with a getter makes (decision 124). */
function requestOf(
  koa: RouteContext,
  { caller, person }: Pick<AnyRequest, 'caller' | 'person'>,
  inputs: RequestInputs,
): AnyRequest {
  const { req, state } = koa
  return {
    id: state.requestId,
    caller,
    person,
    ...inputs,
    headers: req.headers,
    address: state.peer,
    isHead: req.method === 'HEAD',
    wantsPage: state.wantsPage,
    closeSignal: () => closeSignal(koa.res),
  }
}

function closeSignal(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (res.destroyed) controller.abort()
  else res.once('close', () => controller.abort())
  return controller.signal
}

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/**
 * Decided before the body is read. A client that posts JSON gets JSON; for others Accept decides, and HTML is
 * preferred.
 */
function isBrowser(koa: RouteContext): boolean {
  if (koa.method === 'POST' && !FORM.test(koa.req.headers['content-type'] ?? '')) return false
  return koa.accepts('html', 'json') === 'html'
}

/** Sends an error as the client wants it: an HTML page or JSON. */
async function sendRefusalFor(
  ctx: ApiContext,
  koa: Koa.ParameterizedContext<RequestState>,
  refusal: Refusal,
  body?: unknown,
): Promise<void> {
  const { spec, wantsPage } = koa.state
  const source = sourceOf(ctx, koa)
  if (spec?.refusalPage === undefined || !wantsPage) return sendRefusal(koa, refusal, source)
  const params = (koa['params'] ?? {}) as Record<string, string>
  sendRefusal(koa, refusal, source, await spec.refusalPage(ctx, refusal, { params, body, headers: koa.req.headers }))
}

function sourceOf({ config }: ApiContext, { req, state }: Koa.ParameterizedContext<RequestState>): ErrorSource {
  const { requestId, warnings } = state
  return { requestId, publicUrl: config.publicUrl, warnings, hasTranslations: wantsTranslations(req.headers) }
}

function wrapRequest(ctx: ApiContext): Koa.Middleware<RequestState> {
  const isTls = ctx.config.publicUrl.startsWith('https:')
  return async (koa, next) => {
    const startedAt = performance.now()
    const requestId = requestIdOf(koa.req)
    const peer = clientAddress(koa.req, ctx.config.trustProxy) // while the connection exists
    Object.assign(koa.state, { requestId, spec: null, peer, workspaceId: null, wantsPage: false, warnings: [] })
    Object.assign(koa.state, { accepted: { count: 0, first: null }, startedAt, span: null })
    koa.res.setHeader('X-Request-Id', requestId)
    setHeaders(koa, RESPONSE_HEADERS)
    if (isTls) koa.res.setHeader('Strict-Transport-Security', HSTS)
    try {
      // if rendering an error page throws, the page of INTERNAL_ERROR follows, which queries no store
      await next().catch((error: unknown) => sendRefusalFor(ctx, koa, refusalForError(ctx, error, koa.state)))
    } catch (error) {
      sendRefusal(koa, refusalForError(ctx, error, koa.state), sourceOf(ctx, koa))
    }
    if (isLarge(koa)) await compressResponse(koa)
    if (koa.state.span !== null) endRequestSpan(koa.state.span, koa.status)
    recordRequest(ctx, {
      requestId,
      route: nameOf(koa.state),
      path: koa.state.spec === null ? null : firstPathOf(koa.state.spec),
      method: koa.method,
      status: koa.status,
      workspaceId: koa.state.workspaceId,
      peer,
      startedAt,
      accepted: koa.state.accepted,
      traceId: traceIdOf(koa.state.span?.traceparent),
    })
  }
}

function setHeaders(koa: { readonly res: ServerResponse }, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) koa.res.setHeader(name, headers[name] ?? '')
}

/** For metrics and the log. */
function nameOf({ spec }: RequestState): string {
  return spec === null ? 'none' : spec.name
}

function refusalForError(ctx: ApiContext, error: unknown, state: RequestState): Refusal {
  const { requestId } = state
  const route = nameOf(state)
  if (error instanceof GunzipError) return refusalForGzip(error.problem, ctx.config.maxImportBytes)
  if (error instanceof ExpiredSnapshotError) return EXPIRED_CURSOR
  if (isDatabaseAway(error)) {
    ctx.log.warn({ err: error, requestId, route }, 'PostgreSQL is unavailable; the request gets 503')
    return refuse('SERVICE_UNAVAILABLE', 'The service cannot store anything right now. Try again.', 2)
  }
  ctx.log.error({ err: error, requestId, route }, 'a request failed with an internal error')
  return refuse('INTERNAL_ERROR', `Something went wrong on our side. Try again, or report the request id ${requestId}.`)
}

/** A browser gets the dashboard, whose script knows its addresses; programs get 404. */
async function serveUnknownPath(koa: Koa.ParameterizedContext<RequestState>, source: ErrorSource): Promise<void> {
  const page = await serveDashboard(koa.req)
  if (page !== null) return sendResponse(koa, 200, page)
  sendRefusal(koa, refuse('NOT_FOUND', 'This endpoint does not exist. Check method and path: see /docs.'), source)
}

const IMPLICIT_METHODS = ['OPTIONS']

interface RouterMatch {
  /** Set by the router: the routes that match the path. */
  matched?: readonly { readonly path: string | RegExp; readonly methods: readonly string[] }[]
}

/** Sends 404; if the path exists with other methods, 405 with Allow, or 204 to OPTIONS (CORS preflight). */
function refuseUnmatched(
  ctx: ApiContext,
  routes: readonly AnyRoute[],
): (koa: Koa.ParameterizedContext<RequestState, RouterMatch>) => Promise<void> | void {
  const open = new Set<string | RegExp>(routes.filter((spec) => spec.allowsCrossOrigin === true).flatMap(pathsOf))
  return (koa) => {
    const layers = koa.matched ?? []
    const source = sourceOf(ctx, koa)
    if (layers.length === 0) return serveUnknownPath(koa, source)
    const allow = [...new Set(layers.flatMap(({ methods }) => methods)), ...IMPLICIT_METHODS].join(', ')
    koa.res.setHeader('Allow', allow)
    if (koa.method !== 'OPTIONS')
      return sendRefusal(
        koa,
        refuse('METHOD_NOT_ALLOWED', `This endpoint does not accept this method. Use ${allow}.`),
        source,
      )
    if (layers.some(({ path }) => open.has(path))) setHeaders(koa, PREFLIGHT_HEADERS)
    koa.status = 204
  }
}
