/**
 * What is deleted together, and the statements that delete one slice of it: the rows of one workspace in one week. A
 * message of which anything is still to be sent is not chosen. Every table that a statement names is bounded to the
 * week, so it reads no other partition.
 */
import type { PartitionedTable } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'
import type { Weeks } from '#src/stores/weeks.ts'
import type { PeriodName } from './periods.ts'

interface DeletedData {
  readonly period: PeriodName
  /** The table that is walked by workspace and id. */
  readonly walks: 'messages' | 'events'
  /** What has the longest period of all workspaces is not walked, since its partitions are dropped. */
  readonly isDropped: boolean
  /** Whose oldest partition bounds the walk. */
  readonly oldest: PartitionedTable
  /** Statements that delete rows by the ids of `chosen (id)`, as common table expressions. */
  readonly deletes: (weeks: Weeks) => readonly string[]
}

function deleteBy(table: PartitionedTable, column: string): (weeks: Weeks) => string {
  return (weeks) => `DELETE FROM ${table} t USING chosen c WHERE t.${column} = c.id AND ${weeks.contain(`t.${column}`)}`
}

const deleteAttempts = deleteBy('attempts', 'message_id')
const deleteBodies = deleteBy('message_bodies', 'message_id')
const deleteAttachments = deleteBy('attachments', 'message_id')

const clearTexts = (weeks: Weeks): string => sql`
  UPDATE messages t SET html = NULL, body_text = NULL, raw = NULL
  FROM chosen c
  WHERE t.id = c.id AND ${weeks.contain('t.id')} AND num_nonnulls(t.html, t.body_text, t.raw) > 0
`

/** What is deleted together, in this order; the names are in retention_progress. */
export const DELETED_DATA = {
  bodies: {
    period: 'bodies',
    walks: 'messages',
    isDropped: true,
    oldest: 'attachments',
    deletes: (weeks) => [deleteAttachments(weeks), deleteBodies(weeks)],
  },
  /** Bodies in messages, of mail that was accepted before migration 062. */
  old_bodies: {
    period: 'bodies',
    walks: 'messages',
    isDropped: false,
    oldest: 'messages',
    deletes: (weeks) => [clearTexts(weeks)],
  },
  attempts: {
    period: 'events',
    walks: 'messages',
    isDropped: true,
    oldest: 'attempts',
    deletes: (weeks) => [deleteAttempts(weeks)],
  },
  events: {
    period: 'events',
    walks: 'events',
    isDropped: true,
    oldest: 'events',
    deletes: (weeks) => [
      sql`
        DELETE FROM events t
        USING slice s
        WHERE t.workspace_id = $1 AND t.tx = s.tx AND t.id = s.id AND ${weeks.contain('t.id')}`,
    ],
  },
  messages: {
    period: 'messages',
    walks: 'messages',
    isDropped: true,
    oldest: 'messages',
    deletes: (weeks) => [
      deleteAttachments(weeks),
      deleteBodies(weeks),
      deleteAttempts(weeks),
      deleteBy('message_tags', 'message_id')(weeks),
      deleteBy('recipients', 'message_id')(weeks),
      deleteBy('messages', 'id')(weeks),
    ],
  },
} as const satisfies Record<string, DeletedData>
export type DataName = keyof typeof DELETED_DATA
export const DATA_NAMES = Object.keys(DELETED_DATA) as readonly DataName[]

/** The largest number of rows, or of messages with all that belongs to them. */
export const SLICE = 1000

/** The ids of one slice of messages, and of these the ones of which nothing is still to be sent. */
const chooseMessages = (weeks: Weeks): string => sql`
  slice AS MATERIALIZED (
    SELECT id
    FROM messages
    WHERE workspace_id = $1 AND id >= $2 AND id < $3 AND ${weeks.contain('id')}
    ORDER BY id
    LIMIT ${SLICE}
  ),
  open AS MATERIALIZED (
    SELECT DISTINCT s.id
    FROM slice s
    JOIN recipients r ON r.message_id = s.id AND r.is_open AND ${weeks.contain('r.message_id')}
  ),
  chosen AS MATERIALIZED (SELECT id FROM slice EXCEPT SELECT id FROM open)`

/** In the order of their index. What is deleted is not found again, so a slice of events has no position. */
const chooseEvents = (weeks: Weeks): string => sql`
  slice AS MATERIALIZED (
    SELECT tx, id
    FROM events
    WHERE workspace_id = $1 AND id >= $2 AND id < $3 AND ${weeks.contain('id')}
    ORDER BY tx, id
    LIMIT ${SLICE}
  ),
  open AS (SELECT NULL::uuid AS id WHERE false),
  chosen AS (SELECT NULL::uuid AS id FROM slice)`

/** SQL: deletes a slice of workspace $1, of ids from $2 to before $3. */
export function sliceSql(data: DataName, weeks: Weeks): string {
  const { walks, deletes } = DELETED_DATA[data]
  return sql`
    WITH ${walks === 'messages' ? chooseMessages(weeks) : chooseEvents(weeks)},
    ${deletes(weeks)
      .map((statement, i) => `step_${i} AS (${statement})`)
      .join(',\n')}
    SELECT (SELECT count(*) FROM slice) AS seen, (SELECT count(*) FROM chosen) AS deleted,
      ${walks === 'messages' ? `(SELECT max(id::text COLLATE "C") FROM slice)` : 'NULL'} AS last,
      (SELECT min(id::text COLLATE "C") FROM open) AS "firstOpen"
  `
}
