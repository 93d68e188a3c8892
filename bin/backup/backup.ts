/**
 * Makes a backup: one snapshot of the database, the keys and the settings, as one encrypted stream to its target. An
 * error anywhere ends all of it, and nothing is visible at the target.
 */
import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { pino } from 'pino'
import { commandActor } from '#bin/cli/context.ts'
import type { Config } from '#config/load.ts'
import { recordBackup, type MadeBackup } from '#src/operator/backup-log.ts'
import { softwareVersion } from '#src/platform/version.ts'
import { openDb } from '#src/stores/db.ts'
import { type ArchiveFile, type BackupDescription, DESCRIPTION_FILE, FORMAT } from './archive-format.ts'
import { createArchive } from './archive-writer.ts'
import { type DatabaseSnapshot, openSnapshot } from './database-dump.ts'
import { encryptStream, type EncryptionKey } from './encryption.ts'
import { listFiles, readKeys } from './installation-files.ts'
import type { BackupTarget } from './storage.ts'

export interface BackupRequest {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly databaseUrl: string
  readonly target: BackupTarget
  /** Null: not encrypted. */
  readonly key: EncryptionKey | null
  /** For the audit log. */
  readonly command: string
}

export interface BackupResult extends MadeBackup {
  readonly rows: number
  /** Whether the master keys are in it. */
  readonly hasKeys: boolean
  /** The backup was made, but could not be recorded in the database. */
  readonly recordError: unknown
}

/** @throws UserError if the backup was not made. */
export async function makeBackup(request: BackupRequest): Promise<BackupResult> {
  const { config, env, databaseUrl, target, key } = request
  const keys = readKeys(config)
  const files = listFiles(config, env, keys)
  const snapshot = await openSnapshot(databaseUrl)
  try {
    const description: BackupDescription = {
      ...snapshot.description,
      format: FORMAT,
      version: softwareVersion(),
      node: hostname(),
      masterKeys: [...keys.ids],
    }
    const archive = createArchive({
      files: contentOf(description, files, snapshot),
      countRows: () => snapshot.rows,
    })
    const { bytes } = await target.write(await encrypt(archive, key))
    const snapshotAt = new Date(description.snapshotAt)
    const made = { snapshotAt, target: target.name, bytes, isEncrypted: key !== null }
    const rows = Object.values(snapshot.rows).reduce((sum, count) => sum + count, 0)
    return { ...made, rows, hasKeys: keys.text !== null, recordError: await record(request, made) }
  } finally {
    await snapshot.close().catch(() => undefined)
  }
}

async function encrypt(archive: Readable, key: EncryptionKey | null): Promise<Readable> {
  try {
    return key === null ? archive : await encryptStream(archive, key)
  } catch (error) {
    archive.destroy()
    throw error
  }
}

async function* contentOf(
  description: BackupDescription,
  files: readonly ArchiveFile[],
  snapshot: DatabaseSnapshot,
): AsyncGenerator<ArchiveFile> {
  yield { name: DESCRIPTION_FILE, data: Buffer.from(`${JSON.stringify(description, null, 1)}\n`) }
  yield* files
  yield* snapshot.readRows()
}

/** Null if it worked. */
async function record({ databaseUrl, command }: BackupRequest, made: MadeBackup): Promise<unknown> {
  const db = openDb(databaseUrl, pino({ level: 'silent' }), 1)
  try {
    await recordBackup(db.attributedTo(commandActor(command)), made)
    return null
  } catch (error) {
    return error
  } finally {
    await db.close()
  }
}
