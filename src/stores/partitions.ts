/**
 * Weekly partitions of the tables that grow, by the time inside their UUIDv7.
 * They are made three weeks ahead at every migration, and by the worker every few minutes, so that an insert never meets a missing one.
 */
import { idAt } from '#src/platform/id.ts'
import { sql } from './sql.ts'

const WEEK_MS = 7 * 24 * 3600 * 1000
const WEEKS_AHEAD = 3
// Mondays: the epoch was a Thursday.
const MONDAY_MS = 4 * 24 * 3600 * 1000

/** Tables and the storage settings of their partitions. */
const PARTITIONED = {
  messages: 'toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2', // a mail of a few KB stays in its row, uncompressed: cheaper to write and to read
  attachments: '',
  recipients: 'fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1',
  attempts: '',
  message_tags: '',
  events: '',
} as const

function weekOf(ms: number): number {
  return Math.floor((ms - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS
}

function partitionName(table: string, ms: number): string {
  return `${table}_${new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')}`
}

/** Makes the partitions from last week (clocks differ) to three weeks ahead; those that exist are left alone. */
export async function ensurePartitions(run: (statement: string) => Promise<unknown>, nowMs: number): Promise<void> {
  const first = weekOf(nowMs) - WEEK_MS
  for (const [table, storage] of Object.entries(PARTITIONED)) {
    for (let week = first; week <= first + (WEEKS_AHEAD + 1) * WEEK_MS; week += WEEK_MS) {
      const name = partitionName(table, week)
      const bounds = `FROM ('${idAt(week)}') TO ('${idAt(week + WEEK_MS)}')`
      await run(sql`
        CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table}
        FOR VALUES ${bounds}
        ${storage === '' ? '' : `WITH (${storage})`}
      `)
    }
  }
}
