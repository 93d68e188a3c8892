/**
 * The format of a backup: a tar file, compressed with gzip and, unless the operator refuses, encrypted in the format of
 * age (age-encryption.org). `age --decrypt` and `tar` open it without Mailstead. Its files, in this order:
 *
 *   backup.json                what it is, and what the database needs before its rows
 *   files/…                    keys and settings
 *   data/<table>/<number>      the rows of a table as COPY writes them, in parts
 *   manifest.json              size and SHA-256 of each file before it, and the rows of each table
 *
 * A backup without its last file, or with a file that differs from the manifest, is not restored.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'

export const FORMAT = 1
export const DESCRIPTION_FILE = 'backup.json'
export const MANIFEST_FILE = 'manifest.json'
export const FILES_FOLDER = 'files/'

const NAME = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/)

const TABLE = z.object({
  name: NAME,
  columns: z.array(NAME),
  /** Of a partition: its table, its bounds and its storage settings. */
  partition: z
    .object({
      of: NAME,
      bounds: z.string().regex(/^(DEFAULT|FOR VALUES FROM \([^()]+\) TO \([^()]+\))$/),
      storage: z.array(z.string().regex(/^[a-z_.]+=[a-z0-9_.]+$/)),
    })
    .nullable(),
})

export const DESCRIPTION = z.object({
  format: z.literal(FORMAT),
  /** The database has all changes until this time, and none after it. */
  snapshotAt: z.iso.datetime(),
  version: z.string(),
  postgres: z.string(),
  node: z.string(),
  migrations: z.array(z.string().regex(/^\d{3}-[a-z0-9-]+\.ts$/)).min(1),
  tables: z.array(TABLE).min(1),
  sequences: z.array(z.object({ name: NAME, value: z.number().int(), isCalled: z.boolean() })),
  /** The ids of the master keys that encrypt values in the database. */
  masterKeys: z.array(z.string().regex(/^[0-9a-f]{8}$/)),
})
export type BackupDescription = z.infer<typeof DESCRIPTION>
export type TableDescription = BackupDescription['tables'][number]

export const MANIFEST = z.object({
  files: z.array(z.object({ name: z.string(), bytes: z.number().int(), sha256: z.string() })),
  /** Rows by table. */
  rows: z.record(z.string(), z.number().int()),
})
export type Manifest = z.infer<typeof MANIFEST>

/** One file of the archive. Large ones are divided, so that each fits into memory. */
export interface ArchiveFile {
  readonly name: string
  readonly data: Buffer
}

/** The name of a part of a table. */
export function partName(table: string, part: number): string {
  return `data/${table}/${String(part).padStart(6, '0')}`
}

/** The table of a part; null for another file. */
export function tableOfPart(name: string): string | null {
  return /^data\/([a-z0-9_]+)\/\d{6,}$/.exec(name)?.[1] ?? null
}

export function digestOf(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}
