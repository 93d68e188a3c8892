/**
 * Reads the archive of a backup, file by file, and checks all of it: an archive that was cut, changed, encrypted with
 * another key or damaged anywhere is an error, at the latest at its end. So the caller may commit only after the last
 * file. The input may be hostile: names, sizes and the two JSON files are validated, and no file is larger than a part.
 */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type Headers } from 'tar-stream'
import { UserError } from '#bin/supervisor/user-error.ts'
import {
  type ArchiveFile,
  type BackupDescription,
  DESCRIPTION,
  DESCRIPTION_FILE,
  digestOf,
  FILES_FOLDER,
  FORMAT,
  MANIFEST,
  MANIFEST_FILE,
  type Manifest,
  tableOfPart,
} from './archive-format.ts'

const MAX_FILE_BYTES = 64 * 1024 * 1024
const DAMAGED = 'The backup cannot be used'
const ANOTHER = 'Copy it again from where it was made, or use an earlier backup.'

/** What a reader does with the files of an archive. */
export interface ArchiveVisitor {
  /** Called first. */
  describe(description: BackupDescription): Promise<void>
  /** A file with keys or settings; its name has no folder. */
  file(file: ArchiveFile): Promise<void>
  /** A part of a table. */
  part(table: string, data: Buffer): Promise<void>
}

export interface ArchiveSummary {
  readonly description: BackupDescription
  readonly manifest: Manifest
}

/** Reads everything. @throws UserError if the archive is incomplete, damaged or of another format. */
export async function readArchive(archive: Readable, visitor: ArchiveVisitor): Promise<ArchiveSummary> {
  const entries = extract()
  const piped = pipeline(archive, createGunzip(), entries)
  // the loop below reports the error first
  piped.catch(() => undefined)
  const reading = new ArchiveReading(visitor)
  try {
    for await (const entry of entries) await reading.read(await readEntry(entry.header, entry))
    await piped
  } catch (error) {
    archive.destroy()
    throw explain(error)
  }
  return reading.end()
}

/** Errors of zlib and of the tar format; others pass unchanged. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'Z_BUF_ERROR' || /unexpected end|premature close/i.test(error.message))
    return new UserError(`${DAMAGED}: it ends too early. It was cut, or its upload or copy did not finish.`, ANOTHER)
  if (code === 'Z_DATA_ERROR' && /incorrect header check/.test(error.message))
    return new UserError(`${DAMAGED}: it is no backup of Mailstead, or it is encrypted in another way.`, ANOTHER)
  if (/invalid tag|final chunk|ciphertext/.test(error.message))
    return new UserError(`${DAMAGED}: it was cut or changed after it was encrypted (${error.message}).`, ANOTHER)
  if (code.startsWith('Z_') || /tar/i.test(error.message))
    return new UserError(`${DAMAGED}: it is damaged (${error.message}).`, ANOTHER)
  return error
}

async function readEntry({ name, size = 0, type }: Headers, bytes: AsyncIterable<Buffer>): Promise<ArchiveFile> {
  if (type !== 'file' || size > MAX_FILE_BYTES)
    throw new UserError(`${DAMAGED}: ${name} is no file of a backup, or is larger than a backup's files are.`, ANOTHER)
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return { name, data: Buffer.concat(chunks) }
}

class ArchiveReading {
  readonly #visitor: ArchiveVisitor
  readonly #found = new Map<string, { readonly bytes: number; readonly sha256: string }>()
  #description: BackupDescription | null = null
  #manifest: Manifest | null = null

  constructor(visitor: ArchiveVisitor) {
    this.#visitor = visitor
  }

  async read({ name, data }: ArchiveFile): Promise<void> {
    if (this.#manifest !== null) throw new UserError(`${DAMAGED}: ${name} follows its manifest.`, ANOTHER)
    if (name === MANIFEST_FILE) {
      this.#manifest = parse(MANIFEST, data, name)
      return
    }
    if (this.#found.has(name)) throw new UserError(`${DAMAGED}: it contains ${name} twice.`, ANOTHER)
    this.#found.set(name, { bytes: data.length, sha256: digestOf(data) })
    if (name === DESCRIPTION_FILE) {
      requireFormat(data)
      this.#description = parse(DESCRIPTION, data, name)
      return this.#visitor.describe(this.#description)
    }
    await this.#visit(name, data)
  }

  #visit(name: string, data: Buffer): Promise<void> {
    if (this.#description === null)
      throw new UserError(`${DAMAGED}: it does not begin with ${DESCRIPTION_FILE}.`, ANOTHER)
    const table = tableOfPart(name)
    if (table !== null && this.#description.tables.some((one) => one.name === table))
      return this.#visitor.part(table, data)
    const file = name.slice(FILES_FOLDER.length)
    if (name.startsWith(FILES_FOLDER) && /^[A-Za-z0-9_][\w.-]*$/.test(file))
      return this.#visitor.file({ name: file, data })
    throw new UserError(`${DAMAGED}: ${name} is no file of a backup.`, ANOTHER)
  }

  end(): ArchiveSummary {
    const [description, manifest] = [this.#description, this.#manifest]
    if (description === null || manifest === null)
      throw new UserError(`${DAMAGED}: it ends too early. It was cut, or its upload or copy did not finish.`, ANOTHER)
    for (const { name, bytes, sha256 } of manifest.files) {
      const found = this.#found.get(name)
      if (found?.bytes !== bytes || found.sha256 !== sha256)
        throw new UserError(
          `${DAMAGED}: ${name} ${found === undefined ? 'is missing' : 'differs from its checksum'}.`,
          ANOTHER,
        )
    }
    if (manifest.files.length !== this.#found.size)
      throw new UserError(`${DAMAGED}: it contains files that its manifest does not name.`, ANOTHER)
    return { description, manifest }
  }
}

function requireFormat(data: Buffer): void {
  const { format } = parseJson(data) as { format?: unknown }
  if (format !== FORMAT)
    throw new UserError(
      `The backup has format ${String(format)}, and this version reads format ${FORMAT}.`,
      'Restore it with the version of Mailstead that made it, or a newer one.',
    )
}

function parse<T>(
  schema: { safeParse(value: unknown): { success: boolean; data?: T } },
  data: Buffer,
  name: string,
): T {
  const parsed = schema.safeParse(parseJson(data))
  if (parsed.success && parsed.data !== undefined) return parsed.data
  throw new UserError(`${DAMAGED}: ${name} is not valid.`, ANOTHER)
}

function parseJson(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8')) ?? {}
  } catch {
    return {}
  }
}
