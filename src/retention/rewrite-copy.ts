/**
 * Copies the rows of a rewrite (partition-rewrites.ts): first the pages of the old partitions, slice by slice, then the
 * rows with notes. A slice and its position, and rows and the removal of their notes, are one transaction each.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Queryable } from '#src/stores/db.ts'
import type { PartitionedTable } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'
import { copySql, LOCK_WAIT, removeSql, repeatSql, type Rewrite } from './rewrite-statements.ts'

/** Slices are writing transactions: the feed shows no newer event until they end. */
const SLICE_MS = 200
const MOST_PAGES = 16_384
const MOST_PAUSE_MS = 1000
/** As many are taken at once. */
const NOTES = 1000
const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

/** A rewrite that was begun. */
export interface Running extends Rewrite {
  readonly structure: string
  readonly files: readonly number[]
  readonly source: number
  readonly page: number
  readonly isVacuumed: boolean
}

export interface Copier {
  copy(running: Running): Promise<void>
}

/** Copies slice after slice, as many pages as take 0.2 s, and pauses for as long as each took. */
export function createCopier(own: Queryable, firstPages: number): Copier {
  let pages = firstPages
  return {
    copy: async (running) => {
      const startedAt = performance.now()
      await copySlice(own, running, pages)
      const tookMs = performance.now() - startedAt
      if (tookMs > SLICE_MS) pages = Math.max(1, Math.floor(pages / 2))
      else if (tookMs < SLICE_MS / 2) pages = Math.min(MOST_PAGES, pages * 2)
      await sleep(Math.min(tookMs, MOST_PAUSE_MS))
    },
  }
}

const COUNT_PAGES = `SELECT pg_relation_size($1::regclass) / current_setting('block_size')::bigint AS pages`
const SAVE_POSITION = 'UPDATE partition_rewrites SET source = $2, page = $3 WHERE target = $1'

async function copySlice(own: Queryable, running: Running, pages: number): Promise<void> {
  const { target, table, sources, source, page } = running
  const name = sources[source] ?? ''
  const columns = await columnsOf(own, table)
  await inTransaction(own, async () => {
    // rows that are added behind the last page have notes
    const end = (await own.query<{ pages: number }>(COUNT_PAGES, [name])).rows[0]?.pages ?? 0
    const to = Math.min(page + pages, end)
    if (page < to) await own.query(copySql(running, name, columns), [page, to])
    await own.query(SAVE_POSITION, to >= end ? [target, source + 1, 0] : [target, source, to])
  })
}

const COLUMNS = sql`
  SELECT quote_ident(attname) AS name
  FROM pg_attribute
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
  ORDER BY attnum
`

export async function columnsOf(own: Queryable, table: PartitionedTable): Promise<string[]> {
  return (await own.query<{ name: string }>(COLUMNS, [table])).rows.map(({ name }) => name)
}

/** As they are made, so that a row is repeated once at most for each of its changes. */
const TAKE_NOTES = sql`
  DELETE FROM rewrite_notes
  WHERE number = ANY (ARRAY(SELECT number FROM rewrite_notes WHERE target = $1 ORDER BY number LIMIT $2))
  RETURNING id, workspace_id, tag, tx::text AS tx
`

interface Note {
  readonly id: string
  readonly workspace_id: string | null
  readonly tag: string | null
  readonly tx: string | null
}

/** How many notes it took. */
export async function repeatNoted(own: Queryable, rewrite: Rewrite, columns: readonly string[]): Promise<number> {
  return (await inTransaction(own, () => repeatIn(own, rewrite, { columns, most: NOTES }))) ?? 0
}

interface Repeated {
  readonly columns: readonly string[]
  /** Not more notes than these. */
  readonly most: number
}

/**
 * In a transaction. The rows are read after the notes were, so a change that commits in between is either read or has a
 * note that stays.
 */
export async function repeatIn(own: Queryable, rewrite: Rewrite, { columns, most }: Repeated): Promise<number> {
  const { rows } = await own.query<Note>(TAKE_NOTES, [rewrite.target, most])
  if (rows.length === 0) return 0
  const keys = [
    rows.map(({ id }) => id),
    rows.map((note) => note.workspace_id),
    rows.map(({ tag }) => tag),
    rows.map(({ tx }) => tx),
  ]
  // a few keys of large tables
  await own.query('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off')
  await own.query(removeSql(rewrite), keys)
  await own.query(repeatSql(rewrite, columns), keys)
  return rows.length
}

/** Null: a lock was not available in time. Everything is rolled back then; and after `false`, nothing was replaced. */
export async function inTransaction<T>(own: Queryable, run: () => Promise<T>): Promise<T | null> {
  await own.query(`BEGIN; SET LOCAL lock_timeout = '${LOCK_WAIT}'`)
  try {
    const result = await run()
    await own.query('COMMIT')
    return result
  } catch (error) {
    await own.query('ROLLBACK')
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === LOCK_NOT_AVAILABLE || code === DEADLOCK) return null
    throw error
  }
}
