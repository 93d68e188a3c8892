/**
 * Egress sources: the addresses that mail leaves from, each with the name it gives in EHLO, in pools with a weight. Kept in PostgreSQL;
 * outbound processes hold a copy and hear of every change. What is wrong with an order is a value; two that add the same at once: one is
 * told that it is there.
 */
import { isIP } from 'node:net'
import { DatabaseError } from 'pg'
import { REGIONS, type Region } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

/** The channel that changes are announced on. */
export const EGRESS_CHANNEL = 'mailstead_egress'

/** How the reason of a recipient begins that none of its sources can take; explanations know it by that. */
export const NO_SOURCE = 'no source of its pool can take it now'

/** How it ends where its source is busy at the receiver, and it was given back until about its turn. */
export const ITS_TURN = 'it waits for its turn'

/** What can be said of a source in a word; the first that fits, in this order. */
export const SOURCE_STATES = {
  paused: 'the operator took it out of use',
  gone: 'its address is on no sending machine; it returns by itself once the address is back',
  warming: 'sends as much as its warm-up allows, more each day',
  active: 'sends',
} as const
export type SourceState = keyof typeof SOURCE_STATES

export interface Source {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly ehloName: string
  readonly region: Region
  readonly state: SourceState
  readonly isPaused: boolean
  readonly warmingSince: Date | null
  readonly goneSince: Date | null
  /** Where it was found last; null: nowhere yet. */
  readonly machine: string | null
  readonly createdAt: Date
  readonly pools: readonly Membership[]
}

export interface Membership {
  readonly pool: string
  readonly weight: number
}

export interface SourceOrder {
  readonly name: string
  readonly address: string
  readonly ehloName: string
  readonly region: Region
  /** Null: that of the region. Made if there is none of the name. */
  readonly pool: string | null
  readonly weight: number
  readonly isWarmingUp: boolean
}

export type AddedSource =
  | { readonly kind: 'added'; readonly source: Source }
  | { readonly kind: 'refused'; readonly reason: string }

type Timed = Pick<Context, 'db' | 'clock'>

const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/
const HOST_NAME = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/

/** Why this cannot be the name of a source or pool, or null. It stands in Redis keys, logs and attempts. */
export function judgeName(name: string): string | null {
  return NAME.test(name)
    ? null
    : `${JSON.stringify(name)} is no name: lower-case letters, digits, dot, dash and underscore, at most 63`
}

function judgeOrder({ name, address, ehloName, pool, weight }: SourceOrder): string | null {
  if (isIP(address) === 0) return `${JSON.stringify(address)} is no IP address`
  if (!HOST_NAME.test(ehloName)) return `${JSON.stringify(ehloName)} is no host name with a domain`
  if (!Number.isInteger(weight) || weight < 1 || weight > 1000) return 'a weight is a whole number from 1 to 1000'
  return judgeName(name) ?? (pool === null ? null : judgeName(pool))
}

const TAKEN: ReadonlyMap<string | undefined, string> = new Map([
  ['egress_sources_name', 'there is a source of this name'],
  ['egress_sources_address', 'there is a source of this address'],
])

/** It counts as gone until an outbound process has found its address. */
export async function addSource(ctx: Timed, order: SourceOrder): Promise<AddedSource> {
  const reason = judgeOrder(order)
  if (reason !== null) return { kind: 'refused', reason }
  const [id, now, pool] = [newId(ctx.clock.now()), new Date(ctx.clock.now()), order.pool ?? REGIONS[order.region].pool]
  const { name, address, ehloName, region, weight, isWarmingUp } = order
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
    const taken = error instanceof DatabaseError ? TAKEN.get(error.constraint) : undefined
    if (taken === undefined) throw error
    return { kind: 'refused', reason: taken }
  }
  const source = await findSource(ctx.db, name)
  return source === null ? { kind: 'refused', reason: 'it was removed meanwhile' } : { kind: 'added', source }
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

export async function listSources(db: Queryable): Promise<Source[]> {
  return (await db.query<Source>(`${SELECT} ORDER BY s.name`)).rows
}

export async function findSource(db: Queryable, name: string): Promise<Source | null> {
  return (await db.query<Source>(`${SELECT} WHERE s.name = $1`, [name])).rows[0] ?? null
}

/** False when there is none of the name, here and below. */
export async function pauseSource(ctx: Timed, name: string): Promise<boolean> {
  return change(ctx.db, 'UPDATE egress_sources SET paused_at = coalesce(paused_at, $2) WHERE name = $1', [
    name,
    new Date(ctx.clock.now()),
  ])
}

export async function resumeSource(db: Queryable, name: string): Promise<boolean> {
  return change(db, 'UPDATE egress_sources SET paused_at = NULL WHERE name = $1', [name])
}

/** Mail that it began ends by it; mail that waits goes by the others of its pools. */
export async function removeSource(db: Queryable, name: string): Promise<boolean> {
  return change(db, 'DELETE FROM egress_sources WHERE name = $1', [name])
}

/** Begins the warm-up (again, at the first step), or ends it. */
export async function setWarmUp(ctx: Timed, name: string, isOn: boolean): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    await tx.query('DELETE FROM egress_days d USING egress_sources s WHERE s.name = $1 AND d.source_id = s.id', [name])
    return change(tx, 'UPDATE egress_sources SET warming_since = $2 WHERE name = $1', [
      name,
      isOn ? new Date(ctx.clock.now()) : null,
    ])
  })
}

/** The address of a source is on this machine again. */
export async function noteFound(db: Queryable, id: string, machine: string): Promise<boolean> {
  return change(
    db,
    'UPDATE egress_sources SET gone_since = NULL, machine = $2 WHERE id = $1 AND gone_since IS NOT NULL',
    [id, machine],
  )
}

/** The address left this machine. Another machine may have it by now: then this says nothing. */
export async function noteGone(ctx: Timed, id: string, machine: string): Promise<boolean> {
  const now = new Date(ctx.clock.now())
  return change(
    ctx.db,
    'UPDATE egress_sources SET gone_since = $3 WHERE id = $1 AND machine = $2 AND gone_since IS NULL',
    [id, machine, now],
  )
}

async function change(db: Queryable, statement: string, values: readonly unknown[]): Promise<boolean> {
  const { rowCount } = await db.query(statement, values)
  return rowCount === 1
}
