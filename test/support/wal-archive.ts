/**
 * Point-in-time recovery of a PostgreSQL of a test, as docs/guides/backup.md describes it: archived WAL, a base backup,
 * and the recovery to a time. The base backup uses the functions that pg_basebackup uses, because the embedded
 * PostgreSQL comes without that program. All files are in the folder of the server and are removed with it.
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { administer } from './older-database.ts'
import type { TestServer } from './stores.ts'
import { until } from './until.ts'

export interface WalArchive {
  /** Makes a base backup. */
  backUp(): Promise<void>
  /** The time of the server; all changes before it are in the archive when this resolves. */
  now(): Promise<string>
  /** Ends the server as a crash does, and recovers the base backup to a time. */
  recoverTo(time: string): Promise<void>
}

export async function archiveWal(server: TestServer): Promise<WalArchive> {
  const data = await show(server, 'data_directory')
  const [archive, base] = ['archive', 'base'].map((name) => join(dirname(data), name)) as [string, string]
  makeFolder(archive, data)
  appendFileSync(
    join(data, 'operator.conf'),
    `archive_mode = on\narchive_command = 'cp %p ${archive}/%f'\narchive_timeout = 1\n`,
  )
  await server.restart()
  return {
    backUp: async () => {
      const [{ label = '' } = {}] = await administer(
        server.url,
        `SELECT pg_backup_start('base', true)`,
        `COPY (SELECT 1) TO PROGRAM 'cp -a ${data} ${base}; true'`,
        'SELECT labelfile AS label FROM pg_backup_stop(true)',
      )
      rmSync(join(base, 'postmaster.pid'), { force: true })
      writeOwned(base, 'backup_label', label)
    },
    now: async () => {
      const [{ time = '' } = {}] = await administer(
        server.url,
        `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US+00') AS time`,
      )
      return time
    },
    recoverTo: async (time) => {
      const [{ wal = '' } = {}] = await administer(server.url, 'SELECT pg_walfile_name(pg_switch_wal()) AS wal')
      await until(async () => {
        const [row] = await administer(server.url, 'SELECT last_archived_wal AS wal FROM pg_stat_archiver')
        return (row?.['wal'] ?? '') >= wal
      })
      await server.crash()
      rmSync(data, { recursive: true })
      execFileSync('cp', ['-a', base, data])
      appendFileSync(
        join(data, 'operator.conf'),
        `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_time = '${time}'\n` +
          `recovery_target_action = promote\n`,
      )
      writeOwned(data, 'recovery.signal', '')
      await server.restart()
    },
  }
}

async function show(server: TestServer, name: string): Promise<string> {
  const [row] = await administer(server.url, `SELECT current_setting('${name}') AS value`)
  return row?.['value'] ?? ''
}

function makeFolder(folder: string, like: string): void {
  const { uid, gid } = statSync(like)
  mkdirSync(folder, { mode: 0o700 })
  chownSync(folder, uid, gid)
}

function writeOwned(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(folder)
  writeFileSync(join(folder, name), text, { mode: 0o600 })
  chownSync(join(folder, name), uid, gid)
}
