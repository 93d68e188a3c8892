/**
 * Checks that the rows in PostgreSQL are consistent after faults: events of a message are numbered 1, 2, 3 without a
 * gap, a settled recipient holds no lease, and a delivered recipient has one delivered attempt and one delivered
 * event.
 */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import type { System } from './system.ts'

const RULES: readonly (readonly [rule: string, broken: string])[] = [
  [
    'events of a message are numbered from 1 without a gap',
    sql`
      SELECT message_id, array_agg(sequence ORDER BY sequence) AS found
      FROM events
      WHERE message_id IS NOT NULL
      GROUP BY message_id
      HAVING min(sequence) <> 1 OR max(sequence) <> count(*) OR count(DISTINCT sequence) <> count(*)
    `,
  ],
  [
    'the counter of events is that of the last event',
    sql`
      SELECT r.message_id
      FROM recipients r
      JOIN messages m ON m.id = r.message_id
      WHERE CASE WHEN r.is_only THEN r.sequence ELSE m.event_count END <> (
        SELECT count(*)
        FROM events e
        WHERE e.message_id = r.message_id
      )
    `,
  ],
  [
    'a recipient that is settled holds no lease',
    `SELECT message_id, state FROM recipients WHERE NOT is_open AND lease IS NOT NULL`,
  ],
  [
    'a delivered recipient has one delivered event and one delivered attempt',
    sql`
      SELECT r.message_id, r.n
      FROM recipients r
      WHERE r.state = 'delivered'
        AND (
          (
            SELECT count(*)
            FROM events e
            WHERE e.message_id = r.message_id AND e.n = r.n AND e.type = 'email.delivered'
          ) <> 1
          OR (
            SELECT count(*)
            FROM attempts a
            WHERE a.message_id = r.message_id AND a.n = r.n AND a.outcome = 'delivered'
          ) <> 1
        )
    `,
  ],
  [
    'what is open is in an open state',
    sql`
      SELECT message_id, state
      FROM recipients
      WHERE is_open <> (state IN ('scheduled', 'queued', 'deferred', 'sending', 'unknown'))
    `,
  ],
]

/** Rejects with every rule that is broken and its first witnesses. */
export async function checkConsistency({ db }: Pick<System, 'db'>): Promise<void> {
  const broken: string[] = []
  for (const [rule, query] of RULES) {
    const { rows } = await db.query(`${query} LIMIT 3`)
    if (rows.length > 0) broken.push(`${rule}: ${JSON.stringify(rows)}`)
  }
  assert.deepEqual(broken, [])
}
