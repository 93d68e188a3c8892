/**
 * Egress sources: the addresses that mail leaves from, each with its EHLO name, in pools with weights. Stored in
 * PostgreSQL; outbound processes cache them and are notified of every change. Invalid input is returned as a value. If
 * two requests add the same source at once, one is told that it exists.
 */
import { isIP } from 'node:net'
import { DatabaseError } from 'pg'
import { REGIONS, type Region } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

/** The PostgreSQL channel on which changes are announced. */
export const EGRESS_CHANNEL = 'mailstead_egress'

/** Start of the stored reason of a recipient that no source of its pool can send; explanations recognise it by that. */
export const NO_SOURCE_REASON = 'no source of its pool can send it now'

/** The same, if each source of the pool is on a machine that does not run or has lost the address. */
export const NO_RUNNING_SOURCE = `${NO_SOURCE_REASON}: no running node has a source for this mail`

/** End of the reason if the source is busy at the receiver and the recipient was released until its turn. */
export const WAITS_FOR_SOURCE = 'it waits for its turn'

/** The state of a source; the first that applies, in this order. */
export const SOURCE_STATES = {
  paused: 'the operator paused it',
  gone: 'its address is on no sending machine; it becomes active again by itself once the address is back',
  warming: 'sends as much as its warm-up allows, more each day',
  active: 'sends',
} as const
export type SourceState = keyof typeof SOURCE_STATES

export interface EgressSource {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly ehloName: string
  readonly region: Region
  readonly state: SourceState
  readonly isPaused: boolean
  readonly warmingSince: Date | null
  readonly goneSince: Date | null
  /** Machine where the address was last found; null: none yet. */
  readonly machine: string | null
  readonly createdAt: Date
  readonly pools: readonly PoolMembership[]
}

export interface PoolMembership {
  readonly pool: string
  readonly weight: number
}

export interface NewSource {
  readonly name: string
  readonly address: string
  readonly ehloName: string
  readonly region: Region
  /** Null: the pool of the region. Created if it does not exist. */
  readonly pool: string | null
  readonly weight: number
  readonly isWarmingUp: boolean
}

export type AddedSource =
  | { readonly kind: 'added'; readonly source: EgressSource }
  | { readonly kind: 'refused'; readonly reason: string }

type SourceContext = Pick<Context, 'db' | 'clock'>

const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/
const HOST_NAME = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/

/** Returns why this cannot be the name of a source or pool, or null. Names appear in Redis keys, logs and attempts. */
export function validateName(name: string): string | null {
  return NAME.test(name)
    ? null
    : `${JSON.stringify(name)} is not a valid name: ` +
        `use lower-case letters, digits, dots, dashes and underscores, at most 63`
}

function validateSource({ name, address, ehloName, pool, weight }: NewSource): string | null {
  if (isIP(address) === 0) return `${JSON.stringify(address)} is not an IP address`
  if (!HOST_NAME.test(ehloName)) return `${JSON.stringify(ehloName)} is not a fully qualified host name`
  if (!Number.isInteger(weight) || weight < 1 || weight > 1000) return 'a weight is a whole number from 1 to 1000'
  return validateName(name) ?? (pool === null ? null : validateName(pool))
}

const CONFLICTS: ReadonlyMap<string | undefined, string> = new Map([
  ['egress_sources_name', 'a source with this name already exists'],
  ['egress_sources_address', 'a source with this address already exists'],
])

/** Adds a source. It counts as gone until an outbound process has found its address. */
export async function addSource(ctx: SourceContext, request: NewSource): Promise<AddedSource> {
  const reason = validateSource(request)
  if (reason !== null) return { kind: 'refused', reason }
  const [id, now, pool] = [
    newId(ctx.clock.now()),
    new Date(ctx.clock.now()),
    request.pool ?? REGIONS[request.region].pool,
  ]
  const { name, address, ehloName, region, weight, isWarmingUp } = request
  try {
    await ctx.db.transaction(async (tx) => {
      await tx.query(
        sql`
          INSERT INTO egress_sources (
            id, name, address, ehlo_name, region, warming_since, gone_since, check_due_at, created_at
          )
          VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7)
        `,
        [id, name, address, ehloName, region, isWarmingUp ? now : null, now],
      )
      await tx.query('INSERT INTO egress_pools (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
        pool,
        now,
      ])
      await tx.query('INSERT INTO egress_members (pool, source_id, weight) VALUES ($1, $2, $3)', [pool, id, weight])
    })
  } catch (error) {
    const conflict = error instanceof DatabaseError ? CONFLICTS.get(error.constraint) : undefined
    if (conflict === undefined) throw error
    return { kind: 'refused', reason: conflict }
  }
  const source = await findSource(ctx.db, name)
  return source === null ? { kind: 'refused', reason: 'it was removed in the meantime' } : { kind: 'added', source }
}

const SELECT = sql`
  SELECT s.id, s.name, host(s.address) AS address, s.ehlo_name AS "ehloName", s.region,
    s.paused_at IS NOT NULL AS "isPaused", s.warming_since AS "warmingSince", s.gone_since AS "goneSince", s.machine,
    s.created_at AS "createdAt",
    CASE
      WHEN s.paused_at IS NOT NULL THEN 'paused'
      WHEN s.gone_since IS NOT NULL THEN 'gone'
      WHEN s.warming_since IS NOT NULL THEN 'warming'
      ELSE 'active'
    END AS state,
    coalesce(
      (
        SELECT json_agg(json_build_object('pool', m.pool, 'weight', m.weight) ORDER BY m.pool)
        FROM egress_members m
        WHERE m.source_id = s.id
      ),
      '[]'
    ) AS pools
  FROM egress_sources s
`

export async function listSources(db: Queryable): Promise<EgressSource[]> {
  return (await db.query<EgressSource>(`${SELECT} ORDER BY s.name`)).rows
}

export async function findSource(db: Queryable, name: string): Promise<EgressSource | null> {
  return (await db.query<EgressSource>(`${SELECT} WHERE s.name = $1`, [name])).rows[0] ?? null
}

/** False if no source has this name; so do the functions below. */
export async function pauseSource(ctx: SourceContext, name: string): Promise<boolean> {
  return updateOne(ctx.db, 'UPDATE egress_sources SET paused_at = coalesce(paused_at, $2) WHERE name = $1', [
    name,
    new Date(ctx.clock.now()),
  ])
}

export async function resumeSource(db: Queryable, name: string): Promise<boolean> {
  return updateOne(db, 'UPDATE egress_sources SET paused_at = NULL WHERE name = $1', [name])
}

/** Mail that is being sent through it finishes; waiting mail uses the other sources of its pools. */
export async function removeSource(db: Queryable, name: string): Promise<boolean> {
  return updateOne(db, 'DELETE FROM egress_sources WHERE name = $1', [name])
}

/** Starts the warm-up, again at the first step, or ends it. */
export async function setWarmUp(ctx: SourceContext, name: string, isOn: boolean): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    await tx.query('DELETE FROM egress_days d USING egress_sources s WHERE s.name = $1 AND d.source_id = s.id', [name])
    return updateOne(tx, 'UPDATE egress_sources SET warming_since = $2 WHERE name = $1', [
      name,
      isOn ? new Date(ctx.clock.now()) : null,
    ])
  })
}

/** Records that the address of a source is on this machine. */
export async function recordAddressFound(db: Queryable, id: string, machine: string): Promise<boolean> {
  return updateOne(
    db,
    'UPDATE egress_sources SET gone_since = NULL, machine = $2 WHERE id = $1 AND gone_since IS NOT NULL',
    [id, machine],
  )
}

/** Records that the address left this machine. Has no effect if another machine has it by now. */
export async function recordAddressGone(ctx: SourceContext, id: string, machine: string): Promise<boolean> {
  const now = new Date(ctx.clock.now())
  return updateOne(
    ctx.db,
    'UPDATE egress_sources SET gone_since = $3 WHERE id = $1 AND machine = $2 AND gone_since IS NULL',
    [id, machine, now],
  )
}

async function updateOne(db: Queryable, statement: string, values: readonly unknown[]): Promise<boolean> {
  const { rowCount } = await db.query(statement, values)
  return rowCount === 1
}
