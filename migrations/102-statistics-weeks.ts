/**
 * Statistics of weeks and months exist beside those of days, and from hours on the sums of all values of a dimension,
 * so that a report reads little more than it returns (src/statistics/tiles.ts). What is stored already is added up
 * here. No process of version 0.1.0 counts statistics, so nothing is counted without them meanwhile. The index has the
 * rows of one value in the order of time; rows of minutes, which are written most, are not in it.
 */
import { brief, buildIndex, type MigrationStep, unlocked } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const COUNTERS = [
  'accepted',
  'sent',
  'delivered',
  'deferred',
  'bounced_hard',
  'bounced_soft',
  'failed',
  'suppressed',
  'cancelled',
  'complained',
  'unsubscribed',
  'opened',
  'opened_unique',
  'opened_machine',
  'clicked',
  'clicked_unique',
  'clicked_machine',
]
const SUMS = COUNTERS.map((name) => `sum(${name}) AS ${name}`).join(', ')
const [DAY, WEEK, MONTH] = [2, 3, 4]

/** As src/statistics/dimensions.ts had it; pairs had four times as many. */
const MAX_VALUES = [
  [WEEK, 'week', 400],
  [MONTH, 'month', 1000],
] as const

const addUp = ([resolution, unit, values]: (typeof MAX_VALUES)[number]): string => sql`
  INSERT INTO statistics (workspace_id, dimension, at, resolution, value, ${COUNTERS.join(', ')})
  SELECT workspace_id, dimension, at, ${resolution},
    CASE
      WHEN rank <= ${values} * CASE WHEN dimension IN ('receiver_source', 'receiver_class') THEN 4 ELSE 1 END THEN value
      ELSE ''
    END AS name,
    ${SUMS}
  FROM (
    SELECT workspace_id, dimension, date_trunc('${unit}', at, 'UTC') AS at, value, ${SUMS},
      row_number() OVER (
        PARTITION BY workspace_id, dimension, date_trunc('${unit}', at, 'UTC')
        ORDER BY (value = '') DESC, coalesce(sum(sent), 0) + coalesce(sum(deferred), 0) DESC, value
      ) AS rank
    FROM statistics
    WHERE resolution = ${DAY}
    GROUP BY 1, 2, 3, 4
  ) s
  GROUP BY 1, 2, 3, name;
`

/** Under the lock of all writers (src/statistics/count-events.ts). */
const UP = sql`
  SELECT pg_advisory_xact_lock(hashtextextended('mailstead statistics', 0));
  ${MAX_VALUES.map(addUp).join('\n')}
  INSERT INTO statistics (workspace_id, dimension, at, resolution, value, ${COUNTERS.join(', ')})
  SELECT workspace_id, dimension || '/total', at, resolution, '', ${SUMS}
  FROM statistics
  WHERE resolution > 0 AND dimension <> 'all'
  GROUP BY 1, 2, 3, 4;
`

const UNDO = sql`
  SELECT pg_advisory_xact_lock(hashtextextended('mailstead statistics', 0));
  DELETE FROM statistics
  WHERE resolution IN (${WEEK}, ${MONTH}) OR dimension LIKE '%/total';
`

export const steps: readonly MigrationStep[] = [
  unlocked(UP, 'add statistics up by week, month and dimension'),
  buildIndex({
    table: 'statistics',
    name: 'statistics_by_value',
    on: '(workspace_id, dimension, resolution, value, at) WHERE resolution > 0',
  }),
]

export const undo: readonly MigrationStep[] = [
  brief('DROP INDEX statistics_by_value', 'drop index statistics_by_value'),
  unlocked(UNDO, 'delete the statistics of weeks, months and whole dimensions'),
]
