/**
 * Source pools: named sets of sources. A domain's mail leaves through the pool assigned to the domain, else to its
 * workspace, else that of its region (config/regions.ts). Removing a pool returns its users to their region's pool; its
 * sources stay.
 */
import { DatabaseError } from 'pg'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { validateName } from './sources.ts'

interface PoolMember {
  /** Name of the source. */
  readonly source: string
  readonly weight: number
}

export interface Pool {
  readonly name: string
  readonly members: readonly PoolMember[]
  /** Number of workspaces assigned to the pool. */
  readonly workspaces: number
  readonly domains: number
}

/** Null on success, else the error. */
type PoolError = string | null

export async function addPool({ db, clock }: Pick<Context, 'db' | 'clock'>, name: string): Promise<PoolError> {
  const reason = validateName(name)
  if (reason !== null) return reason
  const { rowCount } = await db.query(
    'INSERT INTO egress_pools (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    [name, new Date(clock.now())],
  )
  return rowCount === 1 ? null : `a pool named ${name} already exists`
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

export async function removePool(db: Queryable, name: string): Promise<PoolError> {
  const { rowCount } = await db.query('DELETE FROM egress_pools WHERE name = $1', [name])
  return rowCount === 1 ? null : `no pool named ${name} exists`
}

/** Adds a source to a pool, or changes its weight there. */
export async function addToPool(db: Queryable, pool: string, member: PoolMember): Promise<PoolError> {
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
    return rowCount === 1 ? null : `no source named ${source} exists`
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === 'egress_members_pool')
      return `no pool named ${pool} exists`
    throw error
  }
}

export async function removeFromPool(db: Queryable, pool: string, source: string): Promise<PoolError> {
  const { rowCount } = await db.query(
    'DELETE FROM egress_members WHERE pool = $1 AND source_id = (SELECT id FROM egress_sources WHERE name = $2)',
    [pool, source],
  )
  return rowCount === 1 ? null : `${source} is not in pool ${pool}`
}

export interface PoolUser {
  readonly table: 'workspaces' | 'domains'
  readonly id: string
}

/** Assigns a pool to a workspace or a domain; null: the pool of its region again. */
export async function setEgressPool(db: Queryable, user: PoolUser, pool: string | null): Promise<PoolError> {
  try {
    const { rowCount } = await db.query(`UPDATE ${user.table} SET egress_pool = $2 WHERE id = $1`, [user.id, pool])
    return rowCount === 1 ? null : 'it was removed in the meantime'
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === `${user.table}_egress_pool`)
      return `no pool named ${pool} exists`
    throw error
  }
}
