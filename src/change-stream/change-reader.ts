/**
 * Reads the changes after a position, in one statement on one snapshot: rows that triggers wrote (`changes`), and the
 * events of workspaces. A change is new if its transaction began after the position or was open in it. Of each object
 * only the latest change is returned, and of each workspace and topic a limited number, however many there are: a
 * workspace with a million events costs the others nothing. PostgreSQL away: it rejects, and the position stays.
 */
import type { Db } from '#src/stores/db.ts'
import { hexOf, idAt } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { MAX_EVENT_LAG_MS } from '#src/events/reported-event.ts'
import { eventName } from '#src/events/reported-event.ts'
import { weekly } from '#src/stores/weeks.ts'
import { historyOf, type ChangePosition } from './position.ts'
import { isChangeTopic, topicOfEvent, type ChangeTopic } from './topics.ts'

/** Changes of the service, in the place of a workspace. */
export const SERVICE = '00000000-0000-0000-0000-000000000000'
/** Objects of a topic in one event of the stream. */
const MAX_OBJECTS = 100
/** Events of a workspace that one read returns; several belong to one message. */
const MAX_EVENTS = 200
/** Ids of two processes may be in another order than they were made. */
const MAX_SKEW_MS = 3_600_000

/** What changed of one object. */
export type ObjectChange = Readonly<Record<string, unknown>> & { readonly id: string; readonly change: string }

export interface TopicChanges {
  readonly workspaceId: string
  readonly topic: ChangeTopic
  readonly changes: readonly ObjectChange[]
  /** More objects changed than are listed. */
  readonly hasMore: boolean
}

export interface ChangeRead {
  readonly position: ChangePosition
  readonly changes: readonly TopicChanges[]
}

export interface ChangeQuery {
  /** Of rows of triggers; null: only the current position is read. */
  readonly since: ChangePosition | null
  /** Whose rows of triggers are read; null: those of all. */
  readonly only: string | null
  /** Whose events are read, and after which position. */
  readonly workspaces: readonly { readonly id: string; readonly since: ChangePosition }[]
}

type ChangeTuple = readonly [
  workspaceId: string,
  topic: string,
  object: string,
  change: string,
  facts: Record<string, unknown>,
]
type EventTuple = readonly [workspaceId: string, id: string, type: string, messageId: string | null]

interface ReadRow {
  readonly snapshot: string
  readonly system: string
  readonly timeline: string
  readonly now_ms: number
  readonly changes: readonly ChangeTuple[]
  readonly events: readonly EventTuple[]
}

/** No transaction is in it: a statement with it finds nothing. */
const NOTHING = '9223372036854775806:9223372036854775806:'

const READ = weekly('changes-read', (weeks) => {
  const event = (condition: string): string => sql`
    SELECT e.tx, e.id, e.type, e.message_id
    FROM events e
    WHERE e.workspace_id = w.id
      AND ${weeks.contain('e.id')}
      AND ${condition}
      AND e.tx < pg_snapshot_xmax(pg_current_snapshot())
    ORDER BY e.tx DESC, e.id DESC
    LIMIT ${MAX_EVENTS + 1}`
  return sql`
    WITH found AS (
      SELECT *
      FROM changes
      WHERE tx >= pg_snapshot_xmax($1::pg_snapshot)
      UNION ALL
      SELECT *
      FROM changes
      WHERE tx = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))
    ),
    latest AS (
      SELECT DISTINCT ON (workspace, topic, object) coalesce(workspace_id, '${SERVICE}') AS workspace, f.*
      FROM found f
      WHERE f.tx < pg_snapshot_xmax(pg_current_snapshot())
        AND ($2::uuid IS NULL OR coalesce(workspace_id, '${SERVICE}') = $2)
      ORDER BY workspace, topic, object, id DESC
    ),
    ranked AS (
      SELECT *, row_number() OVER (PARTITION BY workspace, topic ORDER BY id DESC) AS place
      FROM latest
    ),
    happened AS (
      SELECT w.id AS workspace, e.*
      FROM unnest($3::uuid[], $4::pg_snapshot[]) AS w (id, since)
      CROSS JOIN LATERAL (
        (${event('e.tx >= pg_snapshot_xmax(w.since)')})
        UNION ALL
        (${event('e.tx = ANY (ARRAY(SELECT pg_snapshot_xip(w.since)))')})
      ) e
    )
    SELECT pg_current_snapshot()::text AS snapshot,
      (SELECT system_identifier::text FROM pg_control_system()) AS system,
      left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline,
      extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms,
      (
        SELECT coalesce(json_agg(json_build_array(workspace, topic, object, change, facts) ORDER BY id DESC), '[]')
        FROM ranked
        WHERE place <= ${MAX_OBJECTS + 1}
      ) AS changes,
      (
        SELECT coalesce(json_agg(json_build_array(workspace, id, type, message_id) ORDER BY tx DESC, id DESC), '[]')
        FROM happened
      ) AS events
  `
})

/** @throws while PostgreSQL is unavailable, or is a standby. */
export async function readChanges(db: Db, { since, only, workspaces }: ChangeQuery): Promise<ChangeRead> {
  const nowMs = db.clock.now()
  const statement = READ.for([idAt(nowMs - MAX_EVENT_LAG_MS), idAt(nowMs + MAX_SKEW_MS)])
  const {
    rows: [row],
  } = await db.query<ReadRow>(statement, [
    since?.snapshot ?? NOTHING,
    only,
    workspaces.map(({ id }) => id),
    workspaces.map((one) => one.since.snapshot),
  ])
  if (row === undefined) throw new Error('the statement that reads changes returned no row')
  const { snapshot, system, timeline, now_ms: atMs, changes, events } = row
  return {
    position: { history: historyOf(system, timeline), atMs, snapshot },
    changes: [...groupChanges(changes), ...groupEvents(events)],
  }
}

/** Groups by workspace and topic; the latest change of an object is first, and earlier ones are dropped. */
interface TopicGroup {
  readonly workspaceId: string
  readonly topic: ChangeTopic
  readonly objects: Map<string, ObjectChange>
  isCut: boolean
}

class ChangeGroups {
  readonly #groups = new Map<string, TopicGroup>()

  add(workspaceId: string, topic: ChangeTopic, change: ObjectChange): void {
    const group = this.of(workspaceId, topic)
    if (group.objects.has(change.id)) return
    if (group.objects.size >= MAX_OBJECTS) group.isCut = true
    else group.objects.set(change.id, change)
  }

  of(workspaceId: string, topic: ChangeTopic): TopicGroup {
    const name = `${workspaceId} ${topic}`
    const group = this.#groups.get(name) ?? { workspaceId, topic, objects: new Map(), isCut: false }
    this.#groups.set(name, group)
    return group
  }

  list(): TopicChanges[] {
    return [...this.#groups.values()].map(({ workspaceId, topic, objects, isCut }) => ({
      workspaceId,
      topic,
      changes: [...objects.values()],
      hasMore: isCut,
    }))
  }
}

function groupChanges(rows: readonly ChangeTuple[]): TopicChanges[] {
  const groups = new ChangeGroups()
  for (const [workspaceId, topic, id, change, facts] of rows)
    if (isChangeTopic(topic)) groups.add(workspaceId, topic, { id, change, ...facts })
  return groups.list()
}

function groupEvents(rows: readonly EventTuple[]): TopicChanges[] {
  const groups = new ChangeGroups()
  const counts = new Map<string, number>()
  for (const [workspaceId, id, type, messageId] of rows) {
    const count = (counts.get(workspaceId) ?? 0) + 1
    counts.set(workspaceId, count)
    const topic = topicOfEvent(type)
    if (topic === null) continue
    groups.add(workspaceId, topic, {
      id: messageId === null ? eventName(id) : `em_${hexOf(messageId)}`,
      change: type,
    })
  }
  // what the limit cut off may be of any topic
  for (const [workspaceId, count] of counts)
    if (count > MAX_EVENTS) {
      groups.of(workspaceId, 'messages').isCut = true
      groups.of(workspaceId, 'contacts').isCut = true
    }
  return groups.list()
}
