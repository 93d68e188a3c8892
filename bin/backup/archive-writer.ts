/**
 * Writes the archive of a backup as a stream. Nothing is stored on the way: the next file is read only after the
 * previous one was taken, so a slow target slows the database, and the memory is bounded by a few parts.
 *
 * An error of the database, of the target or of the encryption destroys the whole chain. What was written until then
 * has no manifest and is refused by a restore.
 */
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack, type Pack } from 'tar-stream'
import { type ArchiveFile, digestOf, MANIFEST_FILE, type Manifest } from './archive-format.ts'

/** Level 1: the others compress mail by some percent more and take several times as long. */
const GZIP = { level: 1, chunkSize: 256 * 1024 } as const
const MODE = 0o600

export interface ArchiveContent {
  /** Read once, in order. */
  readonly files: AsyncIterable<ArchiveFile>
  /** Called after the last file: the rows of each table. */
  readonly countRows: () => Readonly<Record<string, number>>
}

/** The compressed archive; it fails when the content fails. */
export function createArchive(content: ArchiveContent): Readable {
  const archive = pack()
  const out = new PassThrough()
  // `out` reports the error to its reader
  pipeline(archive, createGzip(GZIP), out).catch((error: Error) => out.destroy(error))
  fill(archive, content).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)))
  })
  return out
}

async function fill(archive: Pack, { files, countRows }: ArchiveContent): Promise<void> {
  const listed: Manifest['files'] = []
  for await (const { name, data } of files) {
    listed.push({ name, bytes: data.length, sha256: digestOf(data) })
    await add(archive, name, data)
  }
  const manifest: Manifest = { files: listed, rows: countRows() }
  await add(archive, MANIFEST_FILE, Buffer.from(`${JSON.stringify(manifest)}\n`))
  archive.finalize()
}

/** Resolves when the reader of the archive has room for more. */
function add(archive: Pack, name: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry = archive.entry({ name, size: data.length, mode: MODE }, (error) => {
      if (error) reject(error instanceof Error ? error : new Error(String(error)))
      else resolve()
    })
    entry.end(data)
  })
}
