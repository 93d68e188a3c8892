/**
 * Who may do what in the embedded PostgreSQL. Mailstead connects as `mailstead_app`, a role that owns its database and
 * has no other right: it can neither run programs nor read files on this machine, as a superuser could. The superuser
 * `mailstead` is for the supervisor and the operator: PostgreSQL lets in only root, and the system user that runs it.
 * The roles of Mailstead are such users only if nobody switches users, as when an ordinary user starts everything.
 *
 * A cluster of an earlier version, in which Mailstead was the superuser, is changed at its first start: its objects get
 * the new owner in one transaction. A death in between leaves it as it was; the next start does it again.
 */
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { sql } from '#src/stores/sql.ts'
import type { SystemAccount } from './account.ts'

export const SUPERUSER = 'mailstead'
export const APPLICATION_ROLE = 'mailstead_app'
const DATABASE = 'mailstead'

/**
 * Settings of postgresql.conf. Relative to the working directory of PostgreSQL, which is the cluster's folder, so that
 * a copy of the cluster works too.
 */
export const ACCESS_SETTINGS = { hba_file: 'mailstead_hba.conf', ident_file: 'mailstead_ident.conf' } as const

/** The application's connection to its database. `localhost` only makes it a valid URL; `host` overrides it. */
export function applicationUrl(sockets: string): string {
  return `postgres://${APPLICATION_ROLE}@localhost/${DATABASE}?host=${encodeURIComponent(sockets)}`
}

/** The same database as a superuser: only as root, or as the user that runs PostgreSQL. */
export function superuserUrl(url: string): string {
  const changed = new URL(url)
  changed.username = SUPERUSER
  return changed.href
}

/** Writes the rules at every start. Those of the operator, in pg_hba.conf, follow ours. */
export function writeAccessRules(dir: string, account: SystemAccount | null): void {
  const rules = [
    '# Overwritten at every start. Put your own rules into pg_hba.conf: they follow below.',
    `local  all,replication  ${SUPERUSER}  peer map=mailstead`,
    `local  all  ${APPLICATION_ROLE}  trust`,
    `local  replication  ${APPLICATION_ROLE}  reject`,
    readFileSync(join(dir, 'pg_hba.conf'), 'utf8'),
  ]
  const users = new Set(['root', account?.name ?? userInfo().username])
  const maps = [...users].map((user) => `mailstead  "${user}"  ${SUPERUSER}`)
  for (const [file, lines] of [
    [ACCESS_SETTINGS.hba_file, rules],
    [ACCESS_SETTINGS.ident_file, maps],
  ] as const) {
    const path = join(dir, file)
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
    if (account !== null) chownSync(path, account.uid, account.gid)
  }
}

/** Creates the application's role and database, if missing, and makes the role the owner of all that is in it. */
export async function setUpApplication(sockets: string): Promise<void> {
  const admin = superuserUrl(applicationUrl(sockets))
  const maintenance = new URL(admin)
  maintenance.pathname = '/postgres'
  const mayWrite = await withClient(maintenance.href, async (client) => {
    const { rows } = await client.query<{ is_standby: boolean }>('SELECT pg_is_in_recovery() AS is_standby')
    if (rows[0]?.is_standby === true) return false
    await client.query(CREATE_ROLE)
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE} OWNER ${APPLICATION_ROLE}`)
    return true
  })
  if (mayWrite) await withClient(admin, (client) => client.query(CHANGE_OWNERS))
}

async function withClient<T>(connectionString: string, use: (client: Client) => Promise<T>): Promise<T> {
  // an operator may have made the database read-only
  const client = new Client({ connectionString, options: '-c default_transaction_read_only=off' })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const CREATE_ROLE = sql`
  DO $body$
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${APPLICATION_ROLE}') THEN
      CREATE ROLE ${APPLICATION_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;
    END IF;
  END
  $body$
`

/** The objects that an earlier version created as the superuser, with the database. Indexes follow their table. */
const CHANGE_OWNERS = sql`
  DO $body$
  DECLARE
    statement text;
  BEGIN
    FOR statement IN
      WITH own AS (
        SELECT oid
        FROM pg_namespace
        WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
      )
      SELECT format('DATABASE %I', datname)
      FROM pg_database
      WHERE datname = current_database() AND datdba = '${SUPERUSER}'::regrole
      UNION ALL
      SELECT format('TABLE %s', oid::regclass)
      FROM pg_class c
      WHERE relnamespace IN (SELECT oid FROM own) AND relowner = '${SUPERUSER}'::regrole
        AND (relkind IN ('r', 'p', 'v', 'm') OR relkind = 'S' AND NOT EXISTS (
          SELECT FROM pg_depend d
          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
            AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
        ))
      UNION ALL
      SELECT format('ROUTINE %s', oid::regprocedure)
      FROM pg_proc
      WHERE pronamespace IN (SELECT oid FROM own) AND proowner = '${SUPERUSER}'::regrole
      UNION ALL
      SELECT format('TYPE %s', t.oid::regtype)
      FROM pg_type t
      WHERE typnamespace IN (SELECT oid FROM own) AND typowner = '${SUPERUSER}'::regrole
        AND (typtype IN ('e', 'd', 'r') OR typtype = 'c' AND EXISTS (
          SELECT FROM pg_class c
          WHERE c.oid = t.typrelid AND c.relkind = 'c'
        ))
    LOOP
      EXECUTE format('ALTER %s OWNER TO ${APPLICATION_ROLE}', statement);
    END LOOP;
  END
  $body$
`
