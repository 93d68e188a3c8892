/**
 * What is read once a second for all clients of the process, while there are any, because it changes with every
 * message: the counters of open campaigns and of the day, and the depth of the queues. Only the latest state counts;
 * what has not changed is not sent. A store that is away is asked again a second later.
 */
import type { Context } from '#src/context.ts'
import { countOpenByTier } from '#src/messages/queue-view.ts'
import { readQueueDepth } from '#src/queue/queue-depth.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { COUNTER_NAMES, RESOLUTIONS } from '#src/statistics/dimensions.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { SERVICE, type TopicChanges } from './change-reader.ts'
import type { ChangeTopic } from './topics.ts'

type SampleContext = Pick<Context, 'db' | 'redis'>

interface SampledTopic {
  /** `workspaceIds` are those with a client of the topic. */
  read(ctx: SampleContext, workspaceIds: readonly string[]): Promise<TopicChanges[]>
  /** Its cost grows with the mail: after a sample, nothing is read this many times as long as it took. */
  readonly rest?: number
}

const MAX_CAMPAIGNS = 100
const COUNTERS = ['recipients', 'waiting', 'dispatched', 'delivered', 'opened', 'clicked', 'failed'] as const

const CAMPAIGNS = prepared(
  'changes-campaigns',
  sql`
    SELECT w.id AS workspace, c.id, c.status, s.*
    FROM unnest($1::uuid[]) AS w (id)
    CROSS JOIN LATERAL (
      SELECT id, status
      FROM campaigns
      WHERE workspace_id = w.id AND is_open AND status IN ('SENDING', 'PAUSED', 'SENT')
      ORDER BY id DESC
      LIMIT ${MAX_CAMPAIGNS}
    ) c
    CROSS JOIN LATERAL (
      SELECT ${COUNTERS.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(', ')},
        coalesce(sum(bounced_hard + bounced_soft), 0)::bigint AS bounced
      FROM campaign_changes
      WHERE campaign_id = c.id
    ) s
  `,
)

/**
 * The day of everything, as far as it is rolled up, and the minutes since then (src/statistics/roll-up.ts): some sixty
 * rows of the primary key for each workspace.
 */
const STATISTICS = prepared(
  'changes-statistics',
  sql`
    SELECT w.id AS workspace, to_char(t.day AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS id, s.*
    FROM unnest($1::uuid[]) AS w (id)
    CROSS JOIN (
      SELECT date_trunc('day', now(), 'UTC') AS day, rolled_until
      FROM statistics_cursors
      WHERE name = 'new'
    ) t
    CROSS JOIN LATERAL (
      SELECT ${COUNTER_NAMES.map((name) => `coalesce(sum(${name}), 0)::int AS ${name}`).join(', ')}
      FROM (
        SELECT *
        FROM statistics
        WHERE workspace_id = w.id
          AND dimension = 'all'
          AND at = t.day
          AND resolution = ${RESOLUTIONS.day.code}
          AND value = ''
        UNION ALL
        SELECT *
        FROM statistics
        WHERE workspace_id = w.id
          AND dimension = 'all'
          AND at >= greatest(t.day, t.rolled_until)
          AND resolution = ${RESOLUTIONS.minute.code}
          AND value = ''
      ) AS counted
      HAVING count(*) > 0
    ) s
  `,
)

type SampleRow = Readonly<Record<string, unknown>> & { readonly workspace: string; readonly id: string }

/** One change for each row. */
async function readRows(
  db: SampleContext['db'],
  topic: ChangeTopic,
  statement: typeof CAMPAIGNS,
  workspaceIds: readonly string[],
): Promise<TopicChanges[]> {
  const { rows } = await db.query<SampleRow>(statement, [workspaceIds])
  return rows.map(({ workspace: workspaceId, ...fields }) => ({
    workspaceId,
    topic,
    changes: [{ change: 'progress', ...fields }],
    hasMore: false,
  }))
}

export const SAMPLED_TOPICS: Readonly<Partial<Record<ChangeTopic, SampledTopic>>> = {
  campaigns: { read: ({ db }, workspaceIds) => readRows(db, 'campaigns', CAMPAIGNS, workspaceIds) },
  statistics: { rest: 20, read: ({ db }, workspaceIds) => readRows(db, 'statistics', STATISTICS, workspaceIds) },
  'open-mail': {
    rest: 20,
    read: async ({ db }, workspaceIds) => {
      const counts = await countOpenByTier(db, workspaceIds)
      return workspaceIds.map((workspaceId) => ({
        workspaceId,
        topic: 'open-mail',
        changes: TIER_NAMES.map((tier) => {
          const found = counts.find((one) => one.workspaceId === workspaceId && one.tier === tier)
          const oldest = found?.oldestDueAt.toISOString() ?? null
          return { id: tier, change: 'progress', count: found?.count ?? 0, oldest_due_at: oldest }
        }),
        hasMore: false,
      }))
    },
  },
  queue: {
    read: async ({ redis }) => {
      const depth = await readQueueDepth(redis)
      const changes = depth.map(({ tier, ...counts }) => ({ id: tier, change: 'progress', ...counts }))
      return [{ workspaceId: SERVICE, topic: 'queue', changes, hasMore: false }]
    },
  },
}

/** Those of `read` that differ from the ones before; `known` is updated. Of each object, by its topic and workspace. */
export function selectChanged(read: readonly TopicChanges[], known: Map<string, string>): TopicChanges[] {
  const next = new Map<string, string>()
  const changed = read.flatMap((topic) => {
    const changes = topic.changes.filter((one) => {
      const [name, state] = [`${topic.topic} ${topic.workspaceId} ${one.id}`, JSON.stringify(one)]
      next.set(name, state)
      return known.get(name) !== state
    })
    return changes.length === 0 ? [] : [{ ...topic, changes }]
  })
  known.clear()
  for (const [name, state] of next) known.set(name, state)
  return changed
}
