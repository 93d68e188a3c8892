/**
 * The nodes of an installation: machines or containers, each with processes in some roles. A process reports itself
 * every few seconds (node-membership.ts). A node that is being drained sends and accepts nothing, and its processes
 * keep running. Forgetting a node declares that its processes are dead: their mail is released at once.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** A process that has not reported for this long does not run, or cannot reach PostgreSQL. */
export const SILENT_SECONDS = 15
/** A process that ended without a word is listed for this long. */
const LISTED_HOURS = 24

export const NODE_STATES = ['running', 'draining', 'drained', 'silent'] as const
export type NodeState = (typeof NODE_STATES)[number]

export interface NodeProcess {
  readonly id: string
  readonly roles: readonly string[]
  readonly version: string
  /** IP addresses that it sends from. */
  readonly sources: readonly string[]
  readonly isDrained: boolean
  readonly isSilent: boolean
  readonly startedAt: Date
  readonly seenAt: Date
}

export interface Node {
  readonly name: string
  readonly state: NodeState
  readonly processes: readonly NodeProcess[]
  /** Recipients that its processes have claimed. */
  readonly leased: number
  /** The last report of any of its processes; null if it has none. */
  readonly seenAt: Date | null
}

interface NodeRow {
  readonly name: string
  readonly isDraining: boolean
  readonly leased: number
}

const PROCESS_COLUMNS = sql`
  node, id, roles, version, sources, is_drained AS "isDrained", started_at AS "startedAt", seen_at AS "seenAt",
  seen_at < now() - ${SILENT_SECONDS} * interval '1 second' AS "isSilent"
`

/** By name. */
export async function listNodes(db: Queryable, name: string | null = null): Promise<Node[]> {
  const { rows: nodes } = await db.query<NodeRow>(
    sql`
      SELECT n.name, n.is_draining AS "isDraining",
        (
          SELECT count(*)::integer
          FROM recipients r
          WHERE r.is_open AND r.state = 'sending' AND r.lease IN (SELECT id FROM leases WHERE node = n.name)
        ) AS leased
      FROM nodes n
      WHERE $1::text IS NULL OR n.name = $1
      ORDER BY n.name
    `,
    [name],
  )
  const { rows: processes } = await db.query<NodeProcess & { readonly node: string }>(
    sql`
      SELECT ${PROCESS_COLUMNS}
      FROM node_processes
      WHERE $1::text IS NULL OR node = $1
      ORDER BY started_at, id
    `,
    [name],
  )
  return nodes.map((row) =>
    describeNode(
      row,
      processes.filter(({ node }) => node === row.name),
    ),
  )
}

function describeNode({ name, isDraining, leased }: NodeRow, processes: readonly NodeProcess[]): Node {
  const seenAt = processes.reduce<Date | null>(
    (last, one) => (last !== null && last > one.seenAt ? last : one.seenAt),
    null,
  )
  return { name, state: stateOf(isDraining, leased, processes), processes, leased, seenAt }
}

function stateOf(isDraining: boolean, leased: number, processes: readonly NodeProcess[]): NodeState {
  const running = processes.filter(({ isSilent }) => !isSilent)
  if (running.length === 0 && !isDraining) return 'silent'
  if (!isDraining) return 'running'
  return leased === 0 && running.every(({ isDrained }) => isDrained) ? 'drained' : 'draining'
}

/** A node as commands and endpoints return it. */
export function nodeJson({ name, state, processes, leased, seenAt }: Node): NodeJson {
  return {
    name,
    state,
    leased,
    seen_at: seenAt?.toISOString() ?? null,
    processes: processes.map((one) => ({
      id: one.id,
      roles: one.roles,
      version: one.version,
      sources: one.sources,
      is_silent: one.isSilent,
      started_at: one.startedAt.toISOString(),
      seen_at: one.seenAt.toISOString(),
    })),
  }
}

export interface NodeJson {
  readonly name: string
  readonly state: NodeState
  readonly leased: number
  readonly seen_at: string | null
  readonly processes: readonly object[]
}

/**
 * False if no node has this name. What its processes reported before a drain begins says nothing about that drain: they
 * may have been drained once and be in use again.
 */
export async function setDraining(db: Queryable, name: string, isDraining: boolean): Promise<boolean> {
  const { rows } = await db.query(
    sql`
      WITH known AS (
        SELECT is_draining
        FROM nodes
        WHERE name = $1
      ), node AS (
        UPDATE nodes
        SET is_draining = $2
        WHERE name = $1
      ), earlier AS (
        UPDATE node_processes
        SET is_drained = false
        WHERE node = $1 AND $2 AND (SELECT NOT is_draining FROM known)
      )
      SELECT FROM known
    `,
    [name, isDraining],
  )
  return rows.length === 1
}

export type ForgetResult = 'forgotten' | 'not-found' | 'running'

/**
 * Removes a node and declares its leases dead: the worker releases their recipients within seconds, without waiting for
 * the journal of the node. The caller vouches that nothing runs there: what does would send its mail twice.
 */
export async function forgetNode(db: Queryable, name: string): Promise<ForgetResult> {
  const {
    rows: [row],
  } = await db.query<{ isKnown: boolean; isRunning: boolean }>(
    sql`
      WITH known AS (
        SELECT name
        FROM nodes
        WHERE name = $1
      ), running AS (
        SELECT id
        FROM node_processes
        WHERE node = $1 AND seen_at >= now() - ${SILENT_SECONDS} * interval '1 second'
      ), dead AS (
        UPDATE leases
        SET is_declared_dead = true, journal = NULL
        WHERE node = $1 AND NOT EXISTS (SELECT FROM running)
      ), gone AS (
        DELETE FROM nodes
        WHERE name = $1 AND NOT EXISTS (SELECT FROM running)
      )
      SELECT EXISTS (SELECT FROM known) AS "isKnown", EXISTS (SELECT FROM running) AS "isRunning"
    `,
    [name],
  )
  if (row?.isKnown !== true) return 'not-found'
  return row.isRunning ? 'running' : 'forgotten'
}

export interface ProcessReport {
  readonly id: string
  readonly node: string
  readonly roles: readonly string[]
  readonly version: string
  readonly sources: readonly string[]
  readonly isDrained: boolean
}

export interface ReportReply {
  /** Its node is being drained. */
  readonly isDraining: boolean
  /** The sources of each other running process that sends. */
  readonly otherSources: readonly (readonly string[])[]
}

const REPORT_PROCESS = prepared(
  'node-process-report',
  sql`
      WITH node AS (
        INSERT INTO nodes (name)
        VALUES ($2)
        ON CONFLICT (name) DO NOTHING
      ), report AS (
        INSERT INTO node_processes (id, node, roles, version, sources, is_drained)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (id) DO UPDATE SET
          seen_at = now(),
          sources = excluded.sources,
          -- at the same time as a drain begins, the process may not know of it
          is_drained = excluded.is_drained AND (SELECT is_draining FROM nodes WHERE name = $2)
      )
      SELECT is_draining AS "isDraining",
        (
          SELECT coalesce(json_agg(p.sources ORDER BY p.id), '[]')
          FROM node_processes p
          JOIN nodes o ON o.name = p.node
          WHERE p.id <> $1
            AND 'outbound' = ANY (p.roles)
            AND NOT o.is_draining
            AND p.seen_at >= now() - ${SILENT_SECONDS} * interval '1 second'
        ) AS "otherSources"
      FROM nodes
      WHERE name = $2
    `,
)

/** Stores the report of a process, and reads what it must know of the others in the same statement. */
export async function reportProcess(db: Queryable, report: ProcessReport): Promise<ReportReply> {
  const { rows } = await db.query<ReportReply>(REPORT_PROCESS, [
    report.id,
    report.node,
    report.roles,
    report.version,
    report.sources,
    report.isDrained,
  ])
  return rows[0] ?? { isDraining: false, otherSources: [] }
}

/** Whether a process in this role runs, as far as it has reported. */
export async function hasProcess(db: Queryable, role: string): Promise<boolean> {
  const { rows } = await db.query(
    sql`
      SELECT
      FROM node_processes
      WHERE $1 = ANY (roles) AND seen_at >= now() - ${SILENT_SECONDS} * interval '1 second'
      LIMIT 1
    `,
    [role],
  )
  return rows.length > 0
}

/** A process that ends is not listed any more. */
export async function removeProcess(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM node_processes WHERE id = $1', [id])
}

/** Removes processes that have been silent for long, and nodes without processes that are not being drained. */
export async function pruneNodes(db: Queryable): Promise<void> {
  await db.query(`DELETE FROM node_processes WHERE seen_at < now() - ${LISTED_HOURS} * interval '1 hour'`)
  await db.query(sql`
    DELETE FROM nodes n
    WHERE NOT is_draining
      AND created_at < now() - ${LISTED_HOURS} * interval '1 hour'
      AND NOT EXISTS (SELECT FROM node_processes p WHERE p.node = n.name)
      AND NOT EXISTS (SELECT FROM leases l WHERE l.node = n.name)
  `)
}
