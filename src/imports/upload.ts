/**
 * Stores an uploaded file of contacts in chunks. Each chunk is stored before more is read, so neither a long file nor a
 * slow disk costs memory. The header is checked with the first chunk: a file without an address column is rejected
 * before the rest arrives.
 *
 * The import can run once the whole file is stored. If the client disconnects, the chunks are deleted at once; if this
 * process dies, the worker deletes them after an hour.
 */
import type { Readable } from 'node:stream'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { readLayout, type LayoutOptions } from './column-layout.ts'
import { splitIntoChunks } from './upload-chunks.ts'

/** Bytes of the file in one row of import_chunks. */
export const CHUNK_BYTES = 256 * 1024
/** Imports of one workspace that have not ended. */
const MAX_OPEN = 20

export interface UploadRequest extends LayoutOptions {
  readonly workspaceId: string
  readonly audienceId: string
  readonly isDryRun: boolean
}

export type UploadResult =
  | { readonly kind: 'stored'; readonly importId: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

type UploadContext = Pick<Context, 'db' | 'config' | 'clock'>

/**
 * Stores the file. The caller has checked that the audience exists. A `source` that is not read to its end is not
 * destroyed.
 */
export async function storeUpload(ctx: UploadContext, request: UploadRequest, source: Readable): Promise<UploadResult> {
  const importId = newId(ctx.clock.now())
  let n = 0
  for await (const piece of splitIntoChunks(source, ctx.config.maxImportBytes, CHUNK_BYTES)) {
    const refusal =
      piece.kind === 'refused'
        ? piece.refusal
        : await storePiece(ctx, request, { importId, n: n++, bytes: piece.bytes })
    if (refusal === null) continue
    await ctx.db.query('DELETE FROM imports WHERE id = $1', [importId])
    return { kind: 'refused', refusal }
  }
  if (n === 0) return { kind: 'refused', refusal: invalid([{ path: '', message: 'the file is empty' }]) }
  const { rowCount } = await ctx.db.query(
    `UPDATE imports SET state = 'waiting', updated_at = now() WHERE id = $1 AND state = 'uploading'`,
    [importId],
  )
  return rowCount === 1 ? { kind: 'stored', importId } : { kind: 'refused', refusal: CANCELLED }
}

interface UploadChunk {
  readonly importId: string
  readonly n: number
  readonly bytes: Buffer
}

/** Stores a piece; the first one creates the import. Returns the error, or null. */
async function storePiece(ctx: UploadContext, request: UploadRequest, chunk: UploadChunk): Promise<Refusal | null> {
  const refusal = chunk.n === 0 ? await createImport(ctx, request, chunk) : null
  return refusal ?? storeChunk(ctx, chunk)
}

async function createImport(
  ctx: UploadContext,
  request: UploadRequest,
  { importId, bytes }: UploadChunk,
): Promise<Refusal | null> {
  const read = readLayout(bytes.toString('utf8'), request)
  if (!read.ok) return invalid(read.details)
  const { rowCount } = await ctx.db.query(
    sql`
      INSERT INTO imports (id, workspace_id, audience_id, state, is_dry_run, layout)
      SELECT $1, $2, $3, 'uploading', $4, $5
      WHERE (
        SELECT count(*)
        FROM imports
        WHERE workspace_id = $2 AND state IN ('uploading', 'waiting', 'running')
      ) < ${MAX_OPEN}
    `,
    [importId, request.workspaceId, request.audienceId, request.isDryRun, JSON.stringify(read.layout)],
  )
  return rowCount === 1
    ? null
    : refuse('CONFLICT', `${MAX_OPEN} imports are waiting or running. Wait for one of them to end, or cancel it.`)
}

const STORE_CHUNK = prepared(
  'imports-store-chunk',
  sql`
    WITH grown AS (
      UPDATE imports
      SET bytes = bytes + octet_length($3::bytea), updated_at = now()
      WHERE id = $1 AND state = 'uploading'
      RETURNING id
    )
    INSERT INTO import_chunks (import_id, n, content)
    SELECT id, $2, $3
    FROM grown
  `,
)

const CANCELLED = refuse('CONFLICT', 'The import was cancelled during the upload. Create a new one if you need it.')

async function storeChunk(ctx: UploadContext, { importId, n, bytes }: UploadChunk): Promise<Refusal | null> {
  const { rowCount } = await ctx.db.query(STORE_CHUNK, [importId, n, bytes])
  return rowCount === 1 ? null : CANCELLED
}
