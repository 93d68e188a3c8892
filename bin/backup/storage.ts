/**
 * Where backups are: files, S3 and pipes. A backup is streamed to its target; no copy of it is made on this machine. An
 * unfinished one is never visible under its name: a file is renamed after it was flushed to the disk, and S3 completes
 * an upload at its end. What a failure leaves: nothing, or after kill -9 a file `….partial` that the next run to
 * this name replaces, or parts of an upload, which a lifecycle rule of the bucket removes.
 */
import { createReadStream, createWriteStream, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import type { Config } from '#config/load.ts'
import { syncFolder } from '#src/crypto/generated-secret.ts'
import { type ObjectName, parseObjectName } from './object-name.ts'
import type * as ObjectStore from './object-store.ts'

export interface BackupTarget {
  /** For messages. */
  readonly name: string
  /** Writes all of it. @throws UserError */
  write(backup: Readable): Promise<{ readonly bytes: number }>
}

export interface BackupSource {
  readonly name: string
  /** From its beginning; may be called again. */
  open(): Promise<Readable>
}

/** Writes to the standard output. */
export const STDOUT = '-'

/** @throws UserError if the target exists or cannot be used. */
export function openTarget(config: Config, where: string, defaultName: string): BackupTarget {
  if (where === STDOUT) return stdoutTarget()
  const object = parseObjectName(where, defaultName)
  return object === null ? fileTarget(fileName(where, defaultName)) : objectTarget(config, object)
}

/** @throws UserError if there is no such file. */
export function openSource(config: Config, where: string): BackupSource {
  if (where === STDOUT)
    throw new UserError('A restore reads the backup twice, first to check all of it.', 'Write it to a file first.')
  const object = parseObjectName(where, '')
  if (object !== null) return { name: where, open: async () => (await loadObjectStore()).openObject(config, object) }
  const file = resolve(where)
  if (!existsSync(file)) throw new UserError(`There is no file ${file}.`, 'Check the name.')
  return { name: file, open: () => Promise.resolve(createReadStream(file, { highWaterMark: 1024 * 1024 })) }
}

function fileName(where: string, defaultName: string): string {
  const path = resolve(where)
  const isFolder = where.endsWith('/') || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return isFolder ? join(path, defaultName) : path
}

const WRITABLE = 'Check the permissions and the free space, or choose another target.'

function fileTarget(file: string): BackupTarget {
  if (existsSync(file)) throw new UserError(`${file} exists. A backup replaces no file.`, 'Choose another name.')
  if (!existsSync(dirname(file)))
    throw new UserError(`There is no folder ${dirname(file)}.`, 'Create it, or choose another one.')
  const partial = `${file}.partial`
  return {
    name: file,
    write: async (backup) => {
      const counter = countBytes()
      try {
        rmSync(partial, { force: true })
        await pipeline(backup, counter, createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }))
        renameSync(partial, file)
        syncFolder(dirname(file))
      } catch (error) {
        rmSync(partial, { force: true })
        throw isSystemError(error) ? new UserError(`${file} cannot be written (${reasonOf(error)}).`, WRITABLE) : error
      }
      return { bytes: counter.bytes }
    },
  }
}

function stdoutTarget(): BackupTarget {
  if (process.stdout.isTTY)
    throw new UserError('The standard output is a terminal.', 'Redirect it, or name a file or s3://bucket/name.')
  return {
    name: 'stdout',
    write: async (backup) => {
      const counter = countBytes()
      await pipeline(backup, counter, process.stdout, { end: false })
      return { bytes: counter.bytes }
    },
  }
}

function objectTarget(config: Config, object: ObjectName): BackupTarget {
  return {
    name: `s3://${object.bucket}/${object.key}`,
    write: async (backup) => {
      const counter = countBytes()
      // the pipeline may have ended before the upload fails and destroys its input
      counter.on('error', () => undefined)
      const { putObject } = await loadObjectStore()
      // the reason, where the abort of the upload fails as well
      const failures: Error[] = []
      // the pipeline aborts it when the upload fails
      backup.once('error', (error) => failures.push(...(error.name === 'AbortError' ? [] : [error])))
      const piped = pipeline(backup, counter)
      const [sent] = await Promise.allSettled([putObject(config, object, counter), piped])
      const [failure] = failures
      if (failure !== undefined) throw failure
      if (sent.status === 'rejected') throw sent.reason
      await piped
      return { bytes: counter.bytes }
    },
  }
}

/** Only where it is needed: the client of S3 is large. */
function loadObjectStore(): Promise<typeof ObjectStore> {
  return import('./object-store.ts')
}

interface ByteCounter extends Transform {
  bytes: number
}

function countBytes(): ByteCounter {
  const counter = new Transform({
    transform(chunk: Buffer, _, done) {
      counter.bytes += chunk.length
      done(null, chunk)
    },
  }) as ByteCounter
  counter.bytes = 0
  return counter
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
