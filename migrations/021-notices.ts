/**
 * Operator notices: problems that only the operator can fix, one row for each until it is acknowledged. And ended
 * suspensions, until all their mail is scheduled again.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sql`
    CREATE TABLE operator_notices (
      id uuid PRIMARY KEY,                        -- UUIDv7
      kind text NOT NULL,                         -- src/operator/notices.ts
      subject text NOT NULL,                      -- what it concerns: a receiver and rule, a source, a workspace
      text text NOT NULL,                         -- of the last occurrence
      count bigint NOT NULL,
      first_seen timestamptz NOT NULL,
      last_seen timestamptz NOT NULL,
      acknowledged_at timestamptz,
      acknowledged_by text
    );
    -- An occurrence after the acknowledgement is a new notice.
    CREATE UNIQUE INDEX operator_notices_open ON operator_notices (kind, subject) WHERE acknowledged_at IS NULL;
    CREATE INDEX operator_notices_acknowledged ON operator_notices (kind, subject, last_seen)
      WHERE acknowledged_at IS NOT NULL;
    CREATE TABLE let_go (
      kind text NOT NULL,                         -- as in suspensions
      subject text NOT NULL,
      at timestamptz NOT NULL,
      PRIMARY KEY (kind, subject)
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE let_go, operator_notices')
}
