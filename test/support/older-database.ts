/**
 * Older states of a PostgreSQL that processes use, for tests of what they do then: a copy that replaces the database
 * under them, and an asynchronous standby that takes over without the last transactions.
 */
import { chownSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { APPLICATION_ROLE, superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { until } from './until.ts'
import { startStandbyServer, type TestServer } from './stores.ts'

/** Runs statements as superuser on a connection of their own; returns the rows of the last. */
export async function administer(url: string, ...statements: string[]): Promise<Record<string, string>[]> {
  const client = new Client({ connectionString: superuserUrl(url) })
  client.on('error', () => undefined)
  await client.connect()
  try {
    let rows: Record<string, string>[] = []
    for (const statement of statements) rows = (await client.query<Record<string, string>>(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

export interface DatabaseCopy {
  /** Of the copy, until it takes the place of the original. */
  readonly url: string
  /** Gives the copy the original's name. Connections to the original end. */
  replace(): Promise<void>
}

/** Copies a database as it is now. Its connections end, because PostgreSQL copies only an unused database. */
export async function copyDatabase(url: string): Promise<DatabaseCopy> {
  const [adminUrl, copyUrl] = [new URL(url), new URL(url)]
  const name = adminUrl.pathname.slice(1)
  adminUrl.pathname = '/postgres'
  copyUrl.pathname = `/${name}_copy`
  const endConnections = [
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`,
  ]
  await administer(
    adminUrl.href,
    ...endConnections,
    `CREATE DATABASE ${name}_copy OWNER ${APPLICATION_ROLE} TEMPLATE ${name} STRATEGY file_copy`,
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`,
  )
  return {
    url: copyUrl.href,
    replace: async () => {
      await administer(
        adminUrl.href,
        ...endConnections,
        `ALTER DATABASE ${name} RENAME TO ${name}_newer`,
        `ALTER DATABASE ${name}_copy RENAME TO ${name}`,
        `DROP DATABASE ${name}_newer WITH (FORCE)`,
      )
    },
  }
}

export interface Standby {
  /** Resolves when it has everything that the primary committed before this call. */
  catchUp(): Promise<void>
  /** Receives nothing more from the primary. */
  detach(): Promise<void>
  promote(): Promise<void>
  stop(): Promise<void>
}

/** Starts an asynchronous standby that streams from the primary. */
export async function startStandby(primary: TestServer): Promise<Standby & { readonly url: string }> {
  const [{ data_directory: data = '' } = {}] = await administer(primary.url, 'SHOW data_directory')
  const sockets = new URL(primary.url).searchParams.get('host')
  const server = await startStandbyServer(async (dir) => {
    const [{ label = '' } = {}] = await administer(
      primary.url,
      `SELECT pg_backup_start('standby', true)`,
      `COPY (SELECT 1) TO PROGRAM 'cp -a ${data} ${dir}; true'`,
      'SELECT labelfile AS label FROM pg_backup_stop(false)',
    )
    rmSync(join(dir, 'postmaster.pid'), { force: true })
    const files = {
      backup_label: label,
      'standby.signal': '',
      'postgresql.auto.conf': `primary_conninfo = 'host=${sockets} user=mailstead'\n`,
    }
    const { uid, gid } = statSync(dir)
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(dir, name), text)
      chownSync(join(dir, name), uid, gid)
    }
  })
  const value = async (url: string, expression: string): Promise<string | undefined> =>
    (await administer(url, `SELECT (${expression})::text AS value`))[0]?.['value']
  return {
    url: server.url,
    catchUp: async () => {
      const position = await value(primary.url, 'pg_current_wal_lsn()')
      await until(async () => (await value(server.url, `pg_last_wal_replay_lsn() >= '${position}'`)) === 'true')
    },
    detach: async () => {
      await administer(server.url, `ALTER SYSTEM SET primary_conninfo = ''`, 'SELECT pg_reload_conf()')
      await until(async () => (await value(server.url, 'SELECT count(*) FROM pg_stat_wal_receiver')) === '0')
    },
    promote: async () => {
      await administer(server.url, 'SELECT pg_promote(true, 60)')
    },
    stop: () => server.stop(),
  }
}

export interface SwitchedUrl {
  readonly url: string
  /** New connections reach this server. */
  switchTo(server: { readonly url: string }): void
  remove(): void
}

/** A URL that can be pointed to another server, as a proxy in front of a cluster does. */
export function createSwitchedUrl(server: { readonly url: string }): SwitchedUrl {
  const folder = mkdtempSync(join(tmpdir(), 'mailstead-url-'))
  const link = join(folder, 'sock')
  const url = new URL(server.url)
  url.searchParams.set('host', link)
  const switchTo = (target: { readonly url: string }): void => {
    symlinkSync(new URL(target.url).searchParams.get('host') ?? '', `${link}.new`)
    renameSync(`${link}.new`, link)
  }
  switchTo(server)
  return { url: url.href, switchTo, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
