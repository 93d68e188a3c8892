/**
 * Restores a backup in these steps: all of it is read and checked; the target is examined; the rows are loaded beside
 * what is there; tables and keys are exchanged, and all mail is suspended in the same transaction. A failure before the
 * last step changes nothing but a schema that the next restore removes.
 */
import type { Readable } from 'node:stream'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { Config } from '#config/load.ts'
import type { ArchiveFile, BackupDescription } from './archive-format.ts'
import { type ArchiveSummary, type ArchiveVisitor, readArchive } from './archive-reader.ts'
import { DatabaseLoader, type TargetState } from './database-load.ts'
import { type DecryptionKeys, decryptStream, isEncrypted } from './encryption.ts'
import { KEY_FILE, type KeyPlan, planKeys, writeKeys } from './installation-files.ts'
import type { BackupSource } from './storage.ts'

export interface VerifiedBackup extends ArchiveSummary {
  /** Keys and settings. */
  readonly files: readonly ArchiveFile[]
  readonly isEncrypted: boolean
}

export interface RestoreRequest {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly databaseUrl: string
  readonly source: BackupSource
  readonly keys: DecryptionKeys
  readonly backup: VerifiedBackup
  /** Replaces a database in use. */
  readonly mayReplace: boolean
  /** For the audit log. */
  readonly command: string
}

export interface RestoreResult {
  /** All mail is suspended, because some of it may have been sent already. */
  readonly isSuspended: boolean
  readonly keys: KeyPlan['kind']
  /** Where the keys are that were replaced. */
  readonly keptKeys: string | null
}

const NO_OP = (): Promise<void> => Promise.resolve()

/** Reads all of a backup and checks it; changes nothing. @throws UserError */
export async function verifyBackup(source: BackupSource, keys: DecryptionKeys): Promise<VerifiedBackup> {
  const files: ArchiveFile[] = []
  const opened = await openPlain(source, keys)
  const summary = await readArchive(opened.archive, {
    describe: NO_OP,
    part: NO_OP,
    file: (file) => {
      files.push(file)
      return Promise.resolve()
    },
  })
  return { ...summary, files, isEncrypted: opened.isEncrypted }
}

async function openPlain(
  source: BackupSource,
  keys: DecryptionKeys,
): Promise<{ readonly archive: Readable; readonly isEncrypted: boolean }> {
  const raw = await source.open()
  const [start, whole] = await peek(raw)
  if (!isEncrypted(start)) return { archive: whole, isEncrypted: false }
  return { archive: await decryptStream(whole, keys), isEncrypted: true }
}

/** The first bytes, and the stream with them. */
async function peek(stream: Readable): Promise<[start: Buffer, stream: Readable]> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  stream.once('readable', () => resolve((stream.read() as Buffer | null) ?? Buffer.alloc(0)))
  stream.once('error', reject)
  const start = await promise
  stream.removeListener('error', reject)
  if (start.length > 0) stream.unshift(start)
  return [start, stream]
}

/** @throws UserError if the target may not be replaced, or the backup changed after it was verified. */
export async function restoreBackup(request: RestoreRequest): Promise<RestoreResult> {
  const { config, env, databaseUrl, source, backup, command } = request
  const { description } = backup
  const plan = planKeys(config, env, {
    needed: description.masterKeys,
    text: backup.files.find(({ name }) => name === KEY_FILE)?.data.toString('utf8') ?? null,
  })
  if (plan.kind === 'refuse') throw UserError.of(plan.reason)
  const loader = await DatabaseLoader.connect(databaseUrl)
  try {
    const state = await loader.readState()
    requireReplaceable(state, request.mayReplace)
    await loadInto(loader, { source, keys: request.keys, description })
    const written = plan.kind === 'write' ? writeKeys(plan, Date.now()) : null
    try {
      const { isSuspended } = await loader.exchange(state.changedAt, command)
      return { isSuspended, keys: plan.kind, keptKeys: written?.kept ?? null }
    } catch (error) {
      written?.undo()
      throw error
    }
  } finally {
    await loader.close()
  }
}

function requireReplaceable({ kind, running }: TargetState, mayReplace: boolean): void {
  if (kind === 'foreign')
    throw new UserError(
      'The database contains tables that are not of Mailstead.',
      'Restore into a database of its own.',
    )
  if (running.length > 0)
    throw new UserError(
      `Mailstead runs with this database on ${running.join(', ')}.`,
      'Stop it on all machines first, and wait 15 seconds.',
    )
  if (kind === 'used' && !mayReplace)
    throw new UserError(
      'The database is not empty.',
      'Make a backup of it first if you may need it, then add --overwrite, which replaces all of it.',
    )
}

async function loadInto(
  loader: DatabaseLoader,
  { source, keys, description }: Pick<RestoreRequest, 'source' | 'keys'> & { readonly description: BackupDescription },
): Promise<void> {
  const { archive } = await openPlain(source, keys)
  const visitor: ArchiveVisitor = {
    describe: async (found) => {
      if (JSON.stringify(found) !== JSON.stringify(description))
        throw new UserError('The backup changed meanwhile.', 'Repeat the command once nothing writes to it.')
      await loader.prepare(found)
    },
    file: NO_OP,
    part: (table, data) => loader.load(table, data),
  }
  const { manifest } = await readArchive(archive, visitor)
  await loader.finish(manifest)
}
