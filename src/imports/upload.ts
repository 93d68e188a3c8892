/**
 * A file of contacts comes in: cut into chunks, each stored before more is read, so that neither the file's length nor a slow disk costs
 * memory. The header is judged when the first chunk is there: a file without addresses is refused before the rest comes.
 * The import may be carried out once all of it is stored. When the client goes away, what came is removed at once; when this process dies,
 * the worker removes it after an hour.
 */
import type { Readable } from 'node:stream'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { readLayout, type LayoutOrder } from './column-layout.ts'
import { cutEven } from './upload-chunks.ts'

/** Of the file, in one row of import_chunks. */
export const CHUNK_BYTES = 256 * 1024
/** Imports of one workspace that have not ended. */
const MAX_OPEN = 20

export interface UploadOrder extends LayoutOrder {
  readonly workspaceId: string
  readonly audienceId: string
  readonly isDryRun: boolean
}

export type UploadResult =
  | { readonly kind: 'stored'; readonly importId: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

type Uploading = Pick<Context, 'db' | 'config' | 'clock'>

/** The audience was looked for before. `source` is left as it is where it is not read to its end. */
export async function storeUpload(ctx: Uploading, order: UploadOrder, source: Readable): Promise<UploadResult> {
  const importId = newId(ctx.clock.now())
  let n = 0
  for await (const piece of cutEven(source, ctx.config.maxImportBytes, CHUNK_BYTES)) {
    const refusal =
      piece.kind === 'refused' ? piece.refusal : await keep(ctx, order, { importId, n: n++, bytes: piece.bytes })
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

interface Chunk {
  readonly importId: string
  readonly n: number
  readonly bytes: Buffer
}

/** The first chunk begins the import. Null when it is stored. */
async function keep(ctx: Uploading, order: UploadOrder, chunk: Chunk): Promise<Refusal | null> {
  const refusal = chunk.n === 0 ? await begin(ctx, order, chunk) : null
  return refusal ?? storeChunk(ctx, chunk)
}

async function begin(ctx: Uploading, order: UploadOrder, { importId, bytes }: Chunk): Promise<Refusal | null> {
  const read = readLayout(bytes.toString('utf8'), order)
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
    [importId, order.workspaceId, order.audienceId, order.isDryRun, JSON.stringify(read.layout)],
  )
  return rowCount === 1
    ? null
    : refuse('CONFLICT', `${MAX_OPEN} imports are waiting or under way; wait for one of them, or cancel it.`)
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

const CANCELLED = refuse('CONFLICT', 'The import was cancelled while its file came in.')

async function storeChunk(ctx: Uploading, { importId, n, bytes }: Chunk): Promise<Refusal | null> {
  const { rowCount } = await ctx.db.query(STORE_CHUNK, [importId, n, bytes])
  return rowCount === 1 ? null : CANCELLED
}
