/**
 * Starts an api on a free port with its own database and Redis, a workspace on plan LAUNCH with a verified domain, and
 * one key of each kind. Tests send HTTP requests; every response is validated against the OpenAPI document. `db` gives
 * access to the stored rows.
 */
import { assert } from 'chai'
import { main } from '#api/main.ts'
import { loadConfig, type Config } from '#config/load.ts'
import { createKey } from '#src/auth/keys.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { openDb, type Db } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { sql } from '#src/stores/sql.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { assertDocumented } from './conformance.ts'
import { createDatabase, startRedis, type TestServer } from './stores.ts'

/** The operator's token (ADMIN_TOKEN) of every system under test. */
export const OPERATOR_TOKEN = 'the-operators-token-of-tests-0123456789'

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON; the text itself where it is none; null where it is empty. */
  readonly body: Json
}

/** JSON of a response: any field may be read. */
export interface Json {
  readonly [field: string]: Json
}

/** Asserts that a field of a response is a string. */
export function textOf(value: unknown): string {
  assert.ok(typeof value === 'string', `${JSON.stringify(value)} is no text`)
  return value
}

/** Asserts that a field of a response is an array. */
export function listOf(value: unknown): Json[] {
  assert.ok(Array.isArray(value), `${JSON.stringify(value)} is no list`)
  return value as Json[]
}

export interface TestCall {
  /** A key; `null` for none. The regular key of the first workspace when not given. */
  readonly key?: string | null
  /** Sent as JSON; a text or bytes as they are. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Tenant {
  readonly workspaceId: string
  readonly domainId: string
  readonly domain: string
  readonly regular: string
  readonly admin: string
}

export interface TestApi extends Tenant {
  readonly url: string
  readonly port: number
  readonly config: Config
  readonly db: Db
  readonly redis: TestServer
  /** Sends one request to a path below /api/v1, or below the root where it starts with `//`. */
  call(method: string, path: string, call?: TestCall): Promise<TestResponse>
  /** Another workspace with its own domain and keys. */
  addTenant(order?: { readonly plan?: string; readonly domain?: string; readonly status?: string }): Promise<Tenant>
  stop(): Promise<void>
}

/** `env` are settings as in the environment; `databaseUrl` is a migrated database that the test drops itself. */
export async function startApi(env: Readonly<Record<string, string>> = {}, databaseUrl?: string): Promise<TestApi> {
  const [database, redis] = await Promise.all([
    databaseUrl === undefined ? createDatabase() : { url: databaseUrl, drop: () => Promise.resolve() },
    startRedis(),
  ])
  const config = loadConfig({
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    HTTP_PORT: '0',
    HTTP_HOST: '127.0.0.1',
    MASTER_KEY: '5a'.repeat(32),
    ADMIN_TOKEN: OPERATOR_TOKEN,
    LOG_LEVEL: 'silent',
    ...env,
  })
  const db = openDb(database.url, openLog({ logLevel: 'silent' }, 'test'), 4)
  const tenant = await createTenant(db, config, {})
  const api = await main(config)
  const url = `http://127.0.0.1:${api.port}`
  return {
    ...tenant,
    url,
    port: api.port,
    config,
    db,
    redis,
    call: (method, path, call = {}) =>
      request(method, path.startsWith('//') ? url + path.slice(1) : `${url}/api/v1${path}`, {
        key: tenant.regular,
        ...call,
      }),
    addTenant: (options = {}) => createTenant(db, config, options),
    stop: async () => {
      await api.stop()
      await db.close()
      await Promise.all([database.drop(), redis.stop()])
    },
  }
}

async function createTenant(
  db: Db,
  config: Config,
  options: { readonly plan?: string; readonly domain?: string; readonly status?: string },
): Promise<Tenant> {
  const { id: workspaceId } = await createWorkspace(db, { name: 'test', plan: options.plan ?? 'launch' })
  const domainId = newId()
  const domain = options.domain ?? `${domainId.slice(-12)}.example`
  await db.query(
    sql`
      INSERT INTO domains (id, workspace_id, domain, verification_status, verified_at)
      VALUES ($1, $2, $3, 'verified', now())
    `,
    [domainId, workspaceId, domain],
  )
  const prefix = config.keyPrefix
  const regular = await createKey(db, { kind: 'regular', prefix, workspaceId, name: 'regular', domainId })
  const admin = await createKey(db, { kind: 'admin', prefix, workspaceId, name: 'admin', scopes: ALL_SCOPES })
  if (regular.kind !== 'created' || admin.kind !== 'created') throw new Error(`no key: ${regular.kind}, ${admin.kind}`)
  // after the key: a key needs a verified domain, but the domain may lose that status later
  if (options.status !== undefined)
    await db.query('UPDATE domains SET verification_status = $2 WHERE id = $1', [domainId, options.status])
  return { workspaceId, domainId, domain, regular: regular.secretKey, admin: admin.secretKey }
}

export async function request(method: string, url: string, { key, body, headers }: TestCall): Promise<TestResponse> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined || key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
  })
  const text = isEndless(response) ? await readBeginning(response) : await response.text()
  const answer = { status: response.status, headers: response.headers, body: parse(text) as Json }
  const type = response.headers.get('content-type')
  // after a redirect, `response.url` is the path of another endpoint
  assertDocumented({ method, path: new URL(response.url).pathname, status: answer.status, type, body: answer.body })
  return answer
}

function isEndless({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}

async function readBeginning({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return Buffer.from(first?.value ?? '').toString()
}

function parse(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
