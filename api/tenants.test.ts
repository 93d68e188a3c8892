/**
 * Tenant isolation: with every key of workspace A, the test sends every id of workspace B wherever a route accepts an
 * id. The response reports an unknown object or contains nothing of B, and no row of B changes. Each request succeeds
 * with the objects of A, which proves that the id was the reason for the refusal.
 */
import { assert } from 'chai'
import { countAudited } from '#test/support/audit-count.ts'
import { fieldsOf, keysOf } from '#test/support/schema-fields.ts'
import { dumpTenant } from '#test/support/tenant-dump.ts'
import {
  createTenantObjects,
  MARKER,
  type TenantObjects,
  type TenantObjectKind,
  firstIds,
  type TenantIds,
} from '#test/support/tenant-objects.ts'
import { REQUEST_SAMPLES, type RequestSample } from '#test/support/request-samples.ts'
import { OPERATOR_TOKEN, startApi, textOf, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'
import { watchWrites, type WriteWatch } from '#test/support/write-watch.ts'
import { isAudited } from '#api/http/audit.ts'
import { isOfWorkspace, isPersonal, pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from './table.ts'

/** Those of people: api/people.test.ts. */
const KEYED = ROUTES.filter((spec) => isOfWorkspace(spec) && !isPersonal(spec))
/** A field with such a name identifies an object of a workspace. */
const NAMING = /(?:^|_)ids?$|[a-z]I[dD]s?$|^e?mails?$|^address(?:es)?$|^suppressions$|cursor|token/
/** Exceptions. Cursors: list-cursors.test.ts. */
const NOT_NAMING = new Set(['content_id', 'contentId', 'cursor'])
/** Needs an outbound process: api/routes/accounts.test.ts. */
const ELSEWHERE = ['test-account id']
/** Names that the caller chooses: `route field`. */
const OWN_NAMES = new Set(['create-automation id', ...ELSEWHERE])
/** Names that every workspace may use: mail to, or a suppression of, an address of another workspace is allowed. */
const NAMES: readonly TenantObjectKind[] = ['email', 'suppression', 'tag', 'event']
/** Drafts, whose sender is checked when they are sent: `route kind`. */
const LATER = new Set(['create-campaign sender', 'update-campaign sender'])

/** Audited routes whose samples leave everything as it is. */
const CHANGES_NOTHING = new Set(['verify-domain', 'track-event', 'resume-account', 'import-suppressions'])

/** No resolver and no registry: these tests do not need them. */
const SETTINGS = {
  DNS_SERVERS: '127.0.0.1:1',
  RDAP_URL: 'none',
  TRUST_PROXY: 'true',
  OAUTH_PROVIDERS_FILE: 'test/support/oauth-providers.json',
}

interface Request {
  readonly spec: AnyRoute
  readonly path: string
  readonly sample: RequestSample
  readonly key: string
}

describe('tenant isolation', () => {
  let api: TestApi
  let mine: TenantIds
  let other: Tenant
  let theirs: TenantObjects
  /** The rows of the other workspace, which must not change. */
  let unchanged: Readonly<Record<string, string>>
  let watch: WriteWatch
  before(async () => {
    api = await startApi(SETTINGS)
    other = await api.addTenant()
    mine = firstIds(await createTenantObjects(api, api, 'mine'))
    theirs = await createTenantObjects(api, other, MARKER)
    unchanged = await dumpTenant(api.db, other.workspaceId)
    watch = await watchWrites(api.db)
  })
  after(() => api.stop())

  interface OwnTenant {
    readonly tenant: Tenant
    readonly own: TenantIds
  }
  /** The last one, if no request has written to it: creating one costs more than the requests of a route. */
  let untouched: Promise<OwnTenant> | null = null
  async function newTenant(): Promise<OwnTenant> {
    const tenant = await api.addTenant()
    return { tenant, own: firstIds(await createTenantObjects(api, tenant, 'own')) }
  }

  async function ask({ spec, path, sample, key }: Request): Promise<TestResponse> {
    const { params = {}, query, body } = sample
    const place = Object.entries(params).reduce(
      (made, [name, value]) => made.replace(`:${name}`, encodeURIComponent(value)),
      path,
    )
    const isFile = typeof body === 'string'
    return api.call(spec.method, `/${place}${query === undefined ? '' : `?${new URLSearchParams(query).toString()}`}`, {
      key,
      ...(body === undefined ? {} : { body }),
      ...(isFile ? { headers: { 'content-type': 'text/csv' } } : {}),
    })
  }

  for (const spec of KEYED) {
    const named = [spec.params, spec.query, spec.body]
      .flatMap(fieldsOf)
      .filter((name) => NAMING.test(name) && !NOT_NAMING.has(name) && !OWN_NAMES.has(`${spec.name} ${name}`))
    const makes = REQUEST_SAMPLES[spec.name] ?? []

    describe(`${spec.method} ${spec.paths[0]}`, () => {
      it('has a sample for each field that identifies an object', () => {
        const own = firstIds({ ...theirs })
        const shown = new Set(
          makes.map((make) => make(own)).flatMap(({ params, query, body }) => [params, query, body].flatMap(keysOf)),
        )
        assert.deepEqual(
          named.filter((name) => !shown.has(name)),
          [],
          'add them to test/support/request-samples.ts',
        )
      })
      if (makes.length === 0) return
      it('accepts the objects of its own workspace', async () => {
        const workspaces: string[] = []
        for (const make of makes) {
          const { tenant, own } = await (untouched ??= newTenant())
          await watch.written()
          const sample = make(own)
          const key = typeof spec.access === 'object' ? tenant.admin : tenant.regular
          const answer = await ask({ spec, path: pathsOf(spec)[0] ?? '', sample, key })
          assert.ok(answer.status < 300, `${answer.status} ${JSON.stringify(answer.body)} to ${JSON.stringify(sample)}`)
          workspaces.push(tenant.workspaceId)
          if ((await watch.written()).hasChanges) untouched = null
        }
        if (isAudited(spec) && !CHANGES_NOTHING.has(spec.name))
          assert.isAbove(await countAudited(api.db, spec.name, workspaces), 0)
      })
      it('finds and changes nothing of another workspace', async () => {
        let tried = 0
        await watch.written()
        for (const { sample, kind, id } of makes.flatMap(swapsOf))
          for (const [path, key] of waysTo(spec)) {
            assertApart(await ask({ spec, path, sample, key }), { spec, sample, kind, id })
            tried++
          }
        assert.ok(tried > 0)
        const { rows } = await watch.written()
        assert.deepInclude(unchanged, await dumpTenant(api.db, other.workspaceId, Object.keys(rows)))
      })
    })
  }

  /** The sample with each id replaced by one of the other workspace, in each notation. */
  function swapsOf(make: (own: TenantIds) => RequestSample): Swap[] {
    const plain = JSON.stringify(make(mine))
    const swaps = (Object.keys(theirs) as TenantObjectKind[]).flatMap((kind) =>
      theirs[kind].map((id) => ({ sample: make({ ...mine, [kind]: id }), kind, id })),
    )
    return swaps.filter(({ sample }) => JSON.stringify(sample) !== plain)
  }

  const waysTo = (spec: AnyRoute): (readonly [path: string, key: string])[] =>
    pathsOf(spec).flatMap((path) => [api.admin, api.regular].map((key) => [path, key] as const))

  interface Swap {
    readonly sample: RequestSample
    readonly kind: TenantObjectKind
    readonly id: string
  }
  function assertApart(answer: TestResponse, { spec, sample, kind, id }: Swap & { readonly spec: AnyRoute }): void {
    const text = JSON.stringify(answer.body) ?? ''
    const what = `${answer.status} ${text} to the ${kind} ${id}`
    assert.ok(!text.replaceAll(id, '').includes(MARKER), what)
    // a batch reports on each of its messages
    const isRefused = [400, 403, 404].includes(answer.status) || text.includes('"accepted":0')
    const mayBeAccepted =
      NAMES.includes(kind) || LATER.has(`${spec.name} ${kind}`) || (sample.isFilter === true && kind !== 'segment')
    assert.ok(isRefused || (mayBeAccepted && answer.status < 500), what)
  }

  it('nothing of the other workspace has changed after all that', async () => {
    assert.deepEqual(await dumpTenant(api.db, other.workspaceId), unchanged)
  })
  it('an Idempotency-Key is unknown in another workspace', async () => {
    const body = ({ domain }: Tenant): object => ({ from: `me@${domain}`, to: 'a@b.example', subject: 's', body: 'x' })
    const headers = { 'idempotency-key': 'the same for both' }
    const tenant = await api.addTenant()
    const first = await api.call('POST', '/send-email/instant', { body: body(api), headers })
    const second = await api.call('POST', '/send-email/instant', { key: tenant.regular, body: body(tenant), headers })
    assert.deepEqual([first.status, second.status, second.headers.get('idempotent-replayed')], [200, 200, null])
    assert.notStrictEqual(textOf(first.body['id']), textOf(second.body['id']))
    const again = await api.call('POST', '/send-email/instant', { body: body(api), headers })
    assert.deepEqual([again.body, again.headers.get('idempotent-replayed')], [first.body, 'true'])
  })
  it('a list contains nothing of another workspace, for any filter', async () => {
    for (const spec of KEYED.filter(({ method, paths }) => method === 'GET' && !paths[0].includes(':'))) {
      const answer = await api.call('GET', `/${pathsOf(spec)[0]}`, {
        key: typeof spec.access === 'object' ? api.admin : api.regular,
      })
      assert.ok(!JSON.stringify(answer.body).includes(MARKER), spec.name)
    }
  })
  it('no key of a workspace opens operator routes, and the operator token opens no workspace', async () => {
    const routes = ROUTES.filter(({ access }) => access === 'operator')
    assert.ok(routes.length > 5)
    for (const spec of routes)
      for (const key of [api.admin, api.regular, null]) {
        const answer = await api.call(spec.method, `/${pathsOf(spec)[0]}`, {
          key,
          // invalid tokens are limited by network
          headers: { 'x-forwarded-for': `10.0.${routes.indexOf(spec) >> 8}.${routes.indexOf(spec) & 255}` },
          ...(spec.body === undefined ? {} : { body: { all: true } }),
        })
        assert.deepEqual([answer.status, answer.body['error']], [401, 'UNAUTHORIZED'], spec.name)
      }
    for (const spec of KEYED) {
      const body = spec.body === undefined ? {} : { body: {} }
      const answer = await api.call(spec.method, `/${pathsOf(spec)[0]}`, { key: OPERATOR_TOKEN, ...body })
      assert.strictEqual(answer.status, 401, spec.name)
    }
  })
  it('every sample belongs to an existing route', () => {
    const names = new Set(ROUTES.map(({ name }) => name))
    assert.deepEqual(
      Object.keys(REQUEST_SAMPLES).filter((name) => !names.has(name)),
      [],
    )
  })
})
