/**
 * Egress pools: named sets of sources. A domain's mail leaves by the pool of its region (config/regions.ts), or by the one that the domain,
 * or else its workspace, was given. A pool that is removed gives those back to their region; its sources stay.
 */
import { DatabaseError } from 'pg'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { judgeName } from './sources.ts'

interface PoolMember {
  /** Its name. */
  readonly source: string
  readonly weight: number
}

export interface Pool {
  readonly name: string
  readonly members: readonly PoolMember[]
  /** How many were given it. */
  readonly workspaces: number
  readonly domains: number
}

/** Null when done; else why not. */
type Refusal = string | null

export async function addPool({ db, clock }: Pick<Context, 'db' | 'clock'>, name: string): Promise<Refusal> {
  const reason = judgeName(name)
  if (reason !== null) return reason
  const { rowCount } = await db.query(
    'INSERT INTO egress_pools (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    [name, new Date(clock.now())],
  )
  return rowCount === 1 ? null : `there is a pool ${name}`
}

export async function listPools(db: Queryable): Promise<Pool[]> {
  const { rows } = await db.query<Pool>(sql`
    SELECT p.name,
      coalesce(
        (
          SELECT json_agg(json_build_object('source', s.name, 'weight', m.weight) ORDER BY s.name)
          FROM egress_members m
          JOIN egress_sources s ON s.id = m.source_id
          WHERE m.pool = p.name
        ),
        '[]'
      ) AS members,
      (SELECT count(*) FROM workspaces WHERE egress_pool = p.name) AS workspaces,
      (SELECT count(*) FROM domains WHERE egress_pool = p.name) AS domains
    FROM egress_pools p
    ORDER BY p.name
  `)
  return rows
}

export async function removePool(db: Queryable, name: string): Promise<Refusal> {
  const { rowCount } = await db.query('DELETE FROM egress_pools WHERE name = $1', [name])
  return rowCount === 1 ? null : `there is no pool ${name}`
}

/** Puts a source into a pool, or changes its weight there. */
export async function joinPool(db: Queryable, pool: string, member: PoolMember): Promise<Refusal> {
  const { source, weight } = member
  if (!Number.isInteger(weight) || weight < 1 || weight > 1000) return 'a weight is a whole number from 1 to 1000'
  try {
    const { rowCount } = await db.query(
      sql`
        INSERT INTO egress_members (pool, source_id, weight)
        SELECT $1, id, $3
        FROM egress_sources
        WHERE name = $2
        ON CONFLICT (pool, source_id)
        DO UPDATE SET weight = excluded.weight
      `,
      [pool, source, weight],
    )
    return rowCount === 1 ? null : `there is no source ${source}`
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === 'egress_members_pool') return `there is no pool ${pool}`
    throw error
  }
}

export async function leavePool(db: Queryable, pool: string, source: string): Promise<Refusal> {
  const { rowCount } = await db.query(
    'DELETE FROM egress_members WHERE pool = $1 AND source_id = (SELECT id FROM egress_sources WHERE name = $2)',
    [pool, source],
  )
  return rowCount === 1 ? null : `${source} is not in ${pool}`
}

export interface PoolUser {
  readonly table: 'workspaces' | 'domains'
  readonly id: string
}

/** Gives a workspace or a domain a pool of its own choice; null: that of the region again. */
export async function usePool(db: Queryable, user: PoolUser, pool: string | null): Promise<Refusal> {
  try {
    const { rowCount } = await db.query(`UPDATE ${user.table} SET egress_pool = $2 WHERE id = $1`, [user.id, pool])
    return rowCount === 1 ? null : 'it was removed meanwhile'
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === `${user.table}_egress_pool`)
      return `there is no pool ${pool}`
    throw error
  }
}
