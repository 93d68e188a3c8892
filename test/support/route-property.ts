/**
 * The promises that every route keeps, whatever comes in: no fault of ours; each refusal in our shape, with a status that the route
 * declares and details that name a field; nothing written by what is refused; and never more than 50 ms of work at a stretch. Files take a
 * share of the table each, so that they run side by side: a new route is in one of them without being named.
 */
import { assert } from 'chai'
import fc from 'fast-check'
import { pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from '#api/table.ts'
import type { Detail } from '#src/platform/errors.ts'
import { OPERATOR, startApi, type Tenant, type TestApi } from './api.ts'
import { fillTenant } from './tenant-objects.ts'
import { assertDescribed, type Observed } from './conformance.ts'
import { firstOf, SAMPLES, type Own } from './samples.ts'
import { changed, inAddress, nearly, queryOf, strangeAddresses, strangeBodies, strangeTypes } from './hostile-input.ts'
import { watchWrites, type WriteWatch } from './write-watch.ts'

const RUNS = 50
/** Of the thread that serves, for one request; taken again before it is believed, since a collection of garbage may fall into one. */
const MOST_WORK_MS = 50
const TRIES = 4

/** No resolver, no registry, no networks: whatever is looked up is looked up in vain, at once. */
const SETTINGS = { DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none', TRUST_PROXY: 'true' }

interface Asked {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly key: string | null
  readonly body?: string | Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Whose request it is. */
interface World {
  readonly api: TestApi
  readonly tenant: Tenant
  readonly own: Own
  readonly ids: readonly string[]
}

/** Declares the tests of the `share`th of `shares` parts of the table. */
export function describeShare(share: number, shares: number): void {
  const routes = ROUTES.filter((_, i) => i % shares === share)
  describe(`any request at all, part ${share + 1} of ${shares}`, () => {
    let api: TestApi
    let watch: WriteWatch
    before(async () => {
      api = await startApi(SETTINGS)
      watch = await watchWrites(api.db)
    })
    after(() => api.stop())

    for (const spec of routes)
      it(`${spec.method} ${spec.paths[0]}`, async () => {
        const world = await createWorld(api)
        await fc.assert(
          fc.asyncProperty(requestsOf(spec, world), async (asked) => {
            await watch.written()
            const { answer, workMs } = await ask(api, asked)
            judge(answer)
            const wrote = await watch.written()
            if (answer.status >= 400) assert.deepEqual(wrote, {}, `${answer.status}, and rows were written`)
            if (workMs > MOST_WORK_MS) await judgeWork(api, asked)
          }),
          { numRuns: RUNS },
        )
      }).timeout(60_000)
  })
}

/** A workspace that nothing was done to. */
async function createWorld(api: TestApi): Promise<World> {
  const tenant = await api.addTenant()
  const belongings = await fillTenant(api, tenant, 'own')
  return { api, tenant, own: firstOf(belongings), ids: Object.values(belongings).flat() }
}

/** What a request is made of, before it is written down. */
interface Parts {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
}

/** Requests that would succeed, requests that are like them, and requests that are like nothing. */
function partsOf(spec: AnyRoute, { own, ids }: World): fc.Arbitrary<Parts> {
  const samples = (SAMPLES[spec.name] ?? [() => ({})]).map((make): Parts => ({
    params: {},
    query: {},
    body: {},
    ...make(own),
  }))
  const names = [...(pathsOf(spec)[0] ?? '').matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const params = fc.record(Object.fromEntries(names.map((name) => [name, fc.constantFrom(...ids)])))
  const made = fc.record({ params, query: nearly(spec.query, ids), body: nearly(spec.body, ids) })
  const sample = fc.constantFrom(...samples)
  const near = fc.tuple(sample, made).map(([whole, other]): Parts => ({
    params: whole.params,
    query: merge(whole.query, other.query),
    body: merge(whole.body, other.body),
  }))
  const bent = fc
    .tuple(sample, fc.constantFrom('query', 'body'))
    .chain(([whole, part]) => changed(fc.constant(whole[part])).map((value): Parts => ({ ...whole, [part]: value })))
  return fc.oneof(sample, sample, near, near, near, bent, bent, bent, made, made, made)
}

function merge(whole: unknown, other: unknown): unknown {
  return typeof whole === 'object' && typeof other === 'object' && !Array.isArray(other)
    ? { ...whole, ...other }
    : whole
}

function requestsOf(spec: AnyRoute, world: World): fc.Arbitrary<Asked> {
  const { tenant } = world
  const own = spec.access === 'operator' ? OPERATOR : typeof spec.access === 'object' ? tenant.admin : tenant.regular
  const key = fc.oneof(
    ...Array.from({ length: 9 }, () => fc.constant(own)),
    fc.constantFrom(tenant.regular, tenant.admin, null),
  )
  const strange = fc.record({ body: strangeBodies, type: strangeTypes })
  return fc
    .record({
      pattern: fc.constantFrom(...pathsOf(spec)),
      parts: partsOf(spec, world),
      key,
      address: fc.ipV4(),
      instead: fc.option(strange, { freq: 5, nil: undefined }),
      place: fc.option(strangeAddresses, { freq: 7, nil: undefined }),
      once: fc.option(fc.constantFrom('a', 'b', 'x'.repeat(257), ''), { freq: 8, nil: undefined }),
    })
    .map(({ pattern, parts, key: by, address, instead, place, once }) => {
      const path = pattern.replace(/:(\w+)/g, (_, name: string) => place ?? inAddress(parts.params[name] ?? 'x'))
      const query = spec.query === undefined ? '' : `?${queryOf(parts.query)}`
      const { body } = parts
      const written =
        typeof body === 'string' && spec.accepts?.includes('csv') === true
          ? { body, type: 'text/csv' }
          : { body: JSON.stringify(body), type: 'application/json' }
      const sent = instead ?? written
      const hasBody =
        spec.method !== 'GET' && (instead !== undefined || spec.body !== undefined || spec.accepts !== undefined)
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

async function ask(api: TestApi, asked: Asked): Promise<{ readonly answer: Observed; readonly workMs: number }> {
  const { method, path, key, body, headers } = asked
  const began = process.threadCpuUsage()
  const response = await fetch(api.url + path, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
    ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) }),
  })
  const text = await response.text()
  const { user, system } = process.threadCpuUsage(began)
  const type = response.headers.get('content-type')
  const isJson = type?.startsWith('application/json') === true && text !== ''
  const told: unknown = isJson ? JSON.parse(text) : text
  const answer = { method, path: new URL(response.url).pathname, status: response.status, type, body: told }
  return { answer, workMs: (user + system) / 1000 }
}

/** 503 is for a store that is away, and for a form whose workspace cannot send. */
function judge(answer: Observed): void {
  const { status, body } = answer
  assert.ok(status < 500 || status === 503, `${status} ${JSON.stringify(body)}`)
  if (status >= 300 && status < 400) return
  assertDescribed(answer)
  if (status < 400 || typeof body === 'string') return
  const { error, message, details } = body as { error: string; message: string; details?: readonly Detail[] }
  assert.ok(!/\n\s*at |\.ts:\d|node_modules|SELECT|syntax error at|invalid input/.test(message), message)
  if (error !== 'VALIDATION_ERROR') return
  assert.ok(details !== undefined && details.length > 0, message)
  for (const { path, message: why } of details)
    assert.ok(path.length <= 200 && why.length > 0 && why.length < 1000, `${path}: ${why}`)
}

/** The least of several tries: what is not ours (a collection of garbage, code that is compiled) does not come again. */
async function judgeWork(api: TestApi, asked: Asked): Promise<void> {
  let least = Infinity
  for (let i = 0; i < TRIES; i++) least = Math.min(least, (await ask(api, asked)).workMs)
  assert.ok(least <= MOST_WORK_MS, `${Math.round(least)} ms of work`)
}
