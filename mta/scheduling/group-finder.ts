/**
 * Finds the egress group of due recipients, where the running processes have different sources: one query for a batch,
 * beside the lookup of their sites. PostgreSQL away: no group is found, any process may claim, and one without a source
 * releases it.
 */
import type { EgressGroups } from '#mta/egress/egress-groups.ts'
import { DEFAULT_REGION, REGIONS, type Region } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import { parseMember } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'

export interface GroupFinder {
  /** False: there are no groups, and nothing must be looked up. */
  readonly isNeeded: boolean
  /** The group of each member of the schedule that belongs to one. Never rejects. */
  find(members: readonly string[]): Promise<ReadonlyMap<string, string>>
}

const FIND_POOLS = weekly(
  'message-pools',
  (weeks) => sql`
    SELECT m.id, coalesce(d.egress_pool, w.egress_pool) AS pool, d.region
    FROM messages m
    LEFT JOIN domains d ON d.id = m.domain_id
    LEFT JOIN workspaces w ON w.id = d.workspace_id
    WHERE m.id = ANY ($1) AND ${weeks.contain('m.id')}
  `,
)

interface PoolRow {
  readonly id: string
  readonly pool: string | null
  /** Null: mail without a sending domain, such as a delivery report. */
  readonly region: Region | null
}

export function createGroupFinder(
  { db, log }: Pick<Context, 'db' | 'log'>,
  groups: Pick<EgressGroups, 'isSplit' | 'groupOf'>,
): GroupFinder {
  return {
    get isNeeded() {
      return groups.isSplit
    },
    find: async (members) => {
      const ids = new Map(
        members.flatMap((member) => {
          const parsed = parseMember(member)
          return parsed === null ? [] : [[member, parsed.messageId] as const]
        }),
      )
      const unique = [...new Set(ids.values())]
      try {
        const { rows } = await db.query<PoolRow>(FIND_POOLS.for(unique), [unique])
        const byId = new Map(
          rows.map(({ id, pool, region }) => [id, groups.groupOf(pool ?? REGIONS[region ?? DEFAULT_REGION].pool)]),
        )
        return new Map(
          [...ids].flatMap(([member, id]) => {
            const group = byId.get(id) ?? null
            return group === null ? [] : [[member, group] as const]
          }),
        )
      } catch (error) {
        log.debug({ err: error }, 'failed to find the source pools of due mail; any process may claim it')
        return new Map()
      }
    },
  }
}
