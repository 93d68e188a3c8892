/** Checks PostgreSQL, migrations and the master key. */
import { existsSync } from 'node:fs'
import type { Db } from '#src/stores/db.ts'
import { compareMigrations, listMigrations } from '#src/stores/migrations.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { loadMasterKeys, masterKeyFile, masterKeyOrigin } from '#src/crypto/master-key.ts'
import { sql } from '#src/stores/sql.ts'
import {
  type DoctorCheck,
  failed,
  type DoctorFinding,
  messageOf,
  ok,
  type CheckContext,
  skipped,
  warning,
} from './check.ts'
import { doctorText } from './finding-texts.ts'

const MIN_POSTGRES = 150_000

/** A check that needs the database. */
export function withDb(name: string, run: (db: Db, patient: CheckContext) => Promise<DoctorFinding>): DoctorCheck {
  return {
    name,
    run: (patient) =>
      patient.db === null ? Promise.resolve(skipped(doctorText('postgres_away'))) : run(patient.db, patient),
  }
}

async function setting(db: Db, name: string): Promise<string> {
  const {
    rows: [row],
  } = await db.query<{ value: string }>('SELECT current_setting($1) AS value', [name])
  return row?.value ?? ''
}

export const POSTGRES: DoctorCheck = {
  name: 'PostgreSQL',
  run: async ({ db, databaseError }) => {
    if (db === null) return failed(databaseError, doctorText('postgres_todo'))
    const version = await setting(db, 'server_version')
    if (Number(await setting(db, 'server_version_num')) < MIN_POSTGRES)
      return failed(doctorText('postgres_old', { version }), doctorText('postgres_old_todo'))
    if ((await setting(db, 'fsync')) === 'on') return ok(doctorText('version', { version }))
    return warning(doctorText('postgres_fsync', { version }), doctorText('postgres_fsync_todo'))
  },
}

/** Each process opens at most 20; `npm start` runs at least six processes. */
const MIN_CONNECTIONS = 120

export const CONNECTIONS = withDb('PostgreSQL connections', async (db) => {
  const {
    rows: [row],
  } = await db.query<{ used: number; most: number }>(sql`
    SELECT count(*)::int AS used,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most
    FROM pg_stat_activity
    WHERE backend_type = 'client backend'
  `)
  const { used, most } = row ?? { used: 0, most: 0 }
  const detail = doctorText('connections', { used, most })
  const isFew = most < MIN_CONNECTIONS || used > 0.8 * most
  return isFew ? warning(detail, doctorText('connections_todo')) : ok(detail)
})

export const MIGRATIONS = withDb('migrations', async (db) => {
  const {
    rows: [found],
  } = await db.query<{ isThere: boolean }>(`SELECT to_regclass('migrations') IS NOT NULL AS "isThere"`)
  const { rows } =
    found?.isThere === true ? await db.query<{ name: string }>('SELECT name FROM migrations') : { rows: [] }
  const applied = rows.map((row) => row.name)
  const all = listMigrations()
  const { pending, needed, unknown, incompatible } = compareMigrations(applied)
  if (incompatible.length > 0)
    return failed(
      doctorText('migrations_removed', { names: incompatible.join(', ') }),
      doctorText('migrations_removed_todo'),
    )
  if (needed.length > 0)
    return failed(doctorText('migrations_pending', { names: needed.join(', ') }), doctorText('migrations_todo'))
  if (unknown.length > 0)
    return warning(doctorText('migrations_newer', { names: unknown.join(', ') }), doctorText('migrations_newer_todo'))
  return pending.length > 0
    ? warning(doctorText('migrations_pending', { names: pending.join(', ') }), doctorText('migrations_later_todo'))
    : ok(doctorText('migrations_applied', { count: all.length, all: all.length }))
})

/** The newest encrypted value of each kind. */
const ENCRYPTED_COLUMNS = [
  ['dkim', 'SELECT private_key AS sealed FROM dkim_keys ORDER BY created_at DESC LIMIT 1'],
  ['webhook', 'SELECT secret AS sealed FROM webhook_endpoints ORDER BY created_at DESC LIMIT 1'],
] as const

const RESTORE_KEY =
  'restore the MASTER_KEY, or the file master.key in DATA_DIR, that encrypted the keys; ' +
  'without it domains need new DKIM keys and webhooks need new secrets'

export const MASTER_KEY = withDb('master key', async (db, { config }) => {
  const encrypted: [purpose: (typeof ENCRYPTED_COLUMNS)[number][0], value: Buffer][] = []
  for (const [purpose, statement] of ENCRYPTED_COLUMNS) {
    const { rows } = await db.query<{ sealed: Buffer }>(statement)
    for (const row of rows) encrypted.push([purpose, row.sealed])
  }
  const source = masterKeyOrigin(config)
  const hasKey = source !== masterKeyFile(config) || existsSync(source)
  if (!hasKey && encrypted.length === 0) return ok('created at the first start')
  if (!hasKey) return failed(`${source} is missing, but stored keys are encrypted with it`, RESTORE_KEY)
  try {
    const encryption = createEncryption(...loadMasterKeys(config))
    for (const [purpose, value] of encrypted) encryption.decrypt(purpose, value)
  } catch (error) {
    return failed(messageOf(error), RESTORE_KEY)
  }
  return ok(encrypted.length === 0 ? `${source}; nothing is encrypted yet` : `${source} decrypts the stored keys`)
})
