/**
 * Properties that hold for every route and every request: no internal error; each refusal has the standard error body,
 * a status that the route declares, and details that name a field; a refused request writes no row; no request uses
 * more than 50 ms of CPU time. Each test file takes a share of the route table, so that the files run in parallel and
 * a new route is covered automatically.
 */
import { assert } from 'chai'
import fc from 'fast-check'
import { pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from '#api/table.ts'
import type { Detail } from '#src/platform/errors.ts'
import { OPERATOR_TOKEN, startApi, type Tenant, type TestApi } from './api.ts'
import { createTenantObjects, firstIds, type TenantIds } from './tenant-objects.ts'
import { assertDocumented, type ObservedResponse } from './conformance.ts'
import { REQUEST_SAMPLES } from './request-samples.ts'
import {
  mutated,
  encodeComponent,
  almostValid,
  queryOf,
  hostilePathSegments,
  hostileBodies,
  hostileContentTypes,
} from './hostile-input.ts'
import { watchWrites, type WriteWatch } from './write-watch.ts'

const RUNS = 12
/**
 * Responses that are an error although the request was stored: an account test is requested from an outbound process,
 * and 503 says that none has run it in time.
 */
const MAY_WRITE: Readonly<Record<string, number>> = { 'test-account': 503 }
/** CPU time of the serving thread for one request. A higher value is measured again, because of garbage collections. */
const MAX_CPU_MS = 50
const CPU_ATTEMPTS = 4

/** No resolver and no registry: every lookup fails immediately. */
const SETTINGS = { DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none', TRUST_PROXY: 'true' }

interface GeneratedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly key: string | null
  readonly body?: string | Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Whose request it is. */
interface RequestContext {
  readonly api: TestApi
  readonly tenant: Tenant
  readonly own: TenantIds
  readonly ids: readonly string[]
}

/** Declares the tests of the `share`th of `shares` parts of the table. */
export function describeRoutes(share: number, shares: number): void {
  const routes = ROUTES.filter((_, i) => i % shares === share)
  describe(`any request at all, part ${share + 1} of ${shares}`, () => {
    let api: TestApi
    let watch: WriteWatch
    before(async () => {
      api = await startApi(SETTINGS)
      watch = await watchWrites(api.db)
    })
    after(() => api.stop())

    // One workspace serves many routes: creating one costs more than the requests of a route. The next route gets a new
    // one when a request has changed or deleted something of it.
    let unchanged: Promise<RequestContext> | null = null
    for (const spec of routes)
      it(`${spec.method} ${spec.paths[0]}`, async () => {
        const context = await (unchanged ??= createRequestContext(api))
        await watch.written()
        await fc.assert(
          fc.asyncProperty(requestsOf(spec, context), async (generated) => {
            const { answer, cpuMs } = await send(api, generated)
            checkResponse(answer)
            const { rows, hasChanges } = await watch.written()
            if (answer.status >= 400 && answer.status !== MAY_WRITE[spec.name])
              assert.deepEqual(rows, {}, `${answer.status}, and rows were written`)
            if (hasChanges) unchanged = null
            if (cpuMs <= MAX_CPU_MS) return
            await checkCpuTime(api, generated)
            await watch.written()
          }),
          { numRuns: RUNS },
        )
      })
  })
}

/** A workspace that nothing was done to. */
async function createRequestContext(api: TestApi): Promise<RequestContext> {
  const tenant = await api.addTenant()
  const objects = await createTenantObjects(api, tenant, 'own')
  return { api, tenant, own: firstIds(objects), ids: Object.values(objects).flat() }
}

/** The parts of a request before it is serialized. */
interface RequestParts {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
}

/** Valid requests, requests that are similar to them, and generated ones. */
function partsOf(spec: AnyRoute, { own, ids }: RequestContext): fc.Arbitrary<RequestParts> {
  const samples = (REQUEST_SAMPLES[spec.name] ?? [() => ({})]).map((make): RequestParts => ({
    params: {},
    query: {},
    body: {},
    ...make(own),
  }))
  const names = [...(pathsOf(spec)[0] ?? '').matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const params = fc.record(Object.fromEntries(names.map((name) => [name, fc.constantFrom(...ids)])))
  const made = fc.record({ params, query: almostValid(spec.query, ids), body: almostValid(spec.body, ids) })
  const sample = fc.constantFrom(...samples)
  const merged = fc.tuple(sample, made).map(([whole, other]): RequestParts => ({
    params: whole.params,
    query: merge(whole.query, other.query),
    body: merge(whole.body, other.body),
  }))
  const mutatedSamples = fc
    .tuple(sample, fc.constantFrom('query', 'body'))
    .chain(([whole, part]) =>
      mutated(fc.constant(whole[part])).map((value): RequestParts => ({ ...whole, [part]: value })),
    )
  return fc.oneof(
    sample,
    sample,
    merged,
    merged,
    merged,
    mutatedSamples,
    mutatedSamples,
    mutatedSamples,
    made,
    made,
    made,
  )
}

function merge(whole: unknown, other: unknown): unknown {
  return typeof whole === 'object' && typeof other === 'object' && !Array.isArray(other)
    ? { ...whole, ...other }
    : whole
}

function requestsOf(spec: AnyRoute, context: RequestContext): fc.Arbitrary<GeneratedRequest> {
  const { tenant } = context
  const own =
    spec.access === 'operator' ? OPERATOR_TOKEN : typeof spec.access === 'object' ? tenant.admin : tenant.regular
  const key = fc.oneof(
    ...Array.from({ length: 9 }, () => fc.constant(own)),
    fc.constantFrom(tenant.regular, tenant.admin, null),
  )
  const hostile = fc.record({ body: hostileBodies, type: hostileContentTypes })
  return fc
    .record({
      pattern: fc.constantFrom(...pathsOf(spec)),
      parts: partsOf(spec, context),
      key,
      address: fc.ipV4(),
      instead: fc.option(hostile, { freq: 5, nil: undefined }),
      place: fc.option(hostilePathSegments, { freq: 7, nil: undefined }),
      once: fc.option(fc.constantFrom('a', 'b', 'x'.repeat(257), ''), { freq: 8, nil: undefined }),
    })
    .map(({ pattern, parts, key: by, address, instead: replacement, place: segment, once }) => {
      const path = pattern.replace(
        /:(\w+)/g,
        (_, name: string) => segment ?? encodeComponent(parts.params[name] ?? 'x'),
      )
      const query = spec.query === undefined ? '' : `?${queryOf(parts.query)}`
      const { body } = parts
      const regular =
        typeof body === 'string' && spec.accepts?.includes('csv') === true
          ? { body, type: 'text/csv' }
          : { body: JSON.stringify(body), type: 'application/json' }
      const sent = replacement ?? regular
      const hasBody =
        spec.method !== 'GET' && (replacement !== undefined || spec.body !== undefined || spec.accepts !== undefined)
      return {
        method: spec.method,
        path: path + query,
        key: by,
        ...(hasBody ? { body: sent.body } : {}),
        headers: {
          'content-type': sent.type,
          'x-forwarded-for': address,
          ...(once === undefined ? {} : { 'idempotency-key': once }),
        },
      }
    })
}

async function send(
  api: TestApi,
  generated: GeneratedRequest,
): Promise<{ readonly answer: ObservedResponse; readonly cpuMs: number }> {
  const { method, path, key, body, headers } = generated
  const startedAt = process.threadCpuUsage()
  const response = await fetch(api.url + path, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
    ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) }),
  })
  const type = response.headers.get('content-type')
  const isStream = type?.startsWith('text/event-stream') === true
  if (isStream) await response.body?.cancel()
  const text = isStream ? '' : await response.text()
  const { user, system } = process.threadCpuUsage(startedAt)
  const isJson = type?.startsWith('application/json') === true && text !== ''
  const parsed: unknown = isJson ? JSON.parse(text) : text
  const answer = { method, path: new URL(response.url).pathname, status: response.status, type, body: parsed }
  return { answer, cpuMs: (user + system) / 1000 }
}

/** 503 is allowed: for a store that is down, and for a form whose workspace cannot send. */
function checkResponse(answer: ObservedResponse): void {
  const { status, body } = answer
  assert.ok(status < 500 || status === 503, `${status} ${JSON.stringify(body)}`)
  if (status >= 300 && status < 400) return
  assertDocumented(answer)
  if (status < 400 || typeof body === 'string') return
  const { error, message, details } = body as { error: string; message: string; details?: readonly Detail[] }
  assert.ok(!/\n\s*at |\.ts:\d|node_modules|SELECT|syntax error at|invalid input/.test(message), message)
  if (error !== 'VALIDATION_ERROR') return
  assert.ok(details !== undefined && details.length > 0, message)
  for (const { path, message: why } of details)
    assert.ok(path.length <= 200 && why.length > 0 && why.length < 1000, `${path}: ${why}`)
}

/** The minimum of several attempts excludes garbage collections and compilation. */
async function checkCpuTime(api: TestApi, generated: GeneratedRequest): Promise<void> {
  let least = Infinity
  for (let i = 0; i < CPU_ATTEMPTS; i++) least = Math.min(least, (await send(api, generated)).cpuMs)
  assert.ok(least <= MAX_CPU_MS, `${Math.round(least)} ms of work`)
}
