/** A keyring whose queries are counted and whose clock tests can move, hooks that open it, and API keys for it. */
import { assert } from 'chai'
import { pino } from 'pino'
import { loadConfig } from '#config/load.ts'
import { createKeyring, type CreatedKey, type Keyring, type NewKey } from '#src/auth/keys.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { newId } from '#src/platform/id.ts'
import { type Db, openDb, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { createDatabase, type TestDatabase } from './stores.ts'
import { until } from './until.ts'

const log = pino({ level: 'silent' })

export interface KeyringWorld {
  readonly db: Db
  readonly keyring: Keyring
  /** Statements that reached the database through the keyring. */
  readonly lookups: () => number
  clock: { ms: number }
}

/** A keyring over a database that counts what it is asked; its clock stands still unless moved. */
export function openKeyringWorld(url: string): KeyringWorld {
  const db = openDb(url, log, 4)
  const clock = { ms: Date.now() }
  let lookups = 0
  const counted: Db = {
    ...db,
    query: (statement, values) => {
      if (typeof statement !== 'string' && statement.name === 'key-lookup') lookups++
      return db.query(statement, values)
    },
  }
  const config = loadConfig({ DATABASE_URL: url })
  const keyring = createKeyring({ config, db: counted, clock: { now: () => clock.ms }, log })
  return { db, keyring, lookups: () => lookups, clock }
}

export async function closeKeyringWorld(world: KeyringWorld): Promise<void> {
  await world.keyring.stop()
  await world.db.close()
}

export interface KeyringScene {
  /** Of the suite. */
  readonly database: TestDatabase
  /** Of the test. */
  readonly world: KeyringWorld
  readonly workspace: { readonly id: string; readonly keyPart: string }
}

/** Adds hooks to the suite: one database, and for each test a keyring that listens, and a workspace. */
export function setUpKeyring(): KeyringScene {
  let database: TestDatabase
  let world: KeyringWorld
  let workspace: KeyringScene['workspace']
  before(async () => {
    database = await createDatabase()
  })
  after(() => database.drop())
  beforeEach(async () => {
    world = openKeyringWorld(database.url)
    workspace = await createWorkspace(world.db, { name: 'A workspace', plan: 'launch' })
    await keyringListens(world.db)
  })
  afterEach(() => closeKeyringWorld(world))
  return {
    get database() {
      return database
    },
    get world() {
      return world
    },
    get workspace() {
      return workspace
    },
  }
}

/** Announcements only count once the keyring listens: PostgreSQL tells. */
export function keyringListens(db: Queryable): Promise<void> {
  return until(async () => {
    const { rows } = await db.query(sql`
      SELECT 1
      FROM pg_stat_activity
      WHERE datname = current_database() AND query = 'LISTEN mailstead_keys' AND state = 'idle'
    `)
    return rows.length > 0
  })
}

export async function storeDomain(
  db: Queryable,
  workspaceId: string,
  status = 'verified',
  domain = `${newId()}.example`,
): Promise<string> {
  const id = newId()
  await db.query('INSERT INTO domains (id, workspace_id, domain, verification_status) VALUES ($1, $2, $3, $4)', [
    id,
    workspaceId,
    domain,
    status,
  ])
  return id
}

interface KeyDetails {
  readonly name?: string
  readonly scopes?: readonly string[]
  readonly expiresAt?: Date
}

export function adminKey(workspaceId: string, more: KeyDetails = {}): NewKey {
  return { prefix: 'ms', workspaceId, name: 'an admin key', scopes: ALL_SCOPES, ...more, kind: 'admin' }
}

export function regularKey(workspaceId: string, domainId: string, more: KeyDetails = {}): NewKey {
  return { prefix: 'ms', workspaceId, name: 'a sending key', domainId, ...more, kind: 'regular' }
}

export function createdKey(result: CreatedKey): { id: string; secretKey: string } {
  if (result.kind !== 'created') assert.fail(`not created: ${result.kind}`)
  return result
}
