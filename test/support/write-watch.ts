/**
 * Counts the rows that are written to a test's database. A trigger on each table records a write in the writing
 * transaction: a rollback removes the record, and no committed write is missed.
 */
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface WriteWatch {
  /** What was written since the last call. */
  written(): Promise<Writes>
}

export interface Writes {
  /** Tables that were written to, and how many rows. */
  readonly rows: Readonly<Record<string, number>>
  /** Rows that existed were changed or deleted. */
  readonly hasChanges: boolean
}

/**
 * That a key was used is noted whenever it was, also for a request that is refused. The notice of refused operator
 * tokens is stored some time after the requests. The write that /readyz tries is not a change, nor is the report of
 * each process about itself. The table of changes follows what other tables record.
 */
const WATCH = sql`
  CREATE TABLE test_writes (name text NOT NULL, operation text NOT NULL);
  CREATE FUNCTION note_test_write() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    IF TG_TABLE_NAME = 'nodes' AND TG_OP = 'INSERT' THEN RETURN NULL; END IF;
    IF TG_TABLE_NAME = 'api_keys' AND TG_OP = 'UPDATE' THEN RETURN NULL; END IF;
    IF TG_TABLE_NAME IN ('operator_notices', 'store_probe', 'node_processes', 'changes') THEN RETURN NULL; END IF;
    INSERT INTO test_writes VALUES (TG_TABLE_NAME, TG_OP);
    RETURN NULL;
  END $body$;
  DO $body$
  DECLARE name text;
  BEGIN
    FOR name IN
      SELECT relname
      FROM pg_class
      WHERE relnamespace = 'public'::regnamespace
        AND relkind IN ('r', 'p')
        AND NOT relispartition
        AND relname <> 'test_writes'
    LOOP
      EXECUTE format(
        'CREATE TRIGGER zz_test_writes AFTER INSERT OR UPDATE OR DELETE ON %I '
        'FOR EACH ROW EXECUTE FUNCTION note_test_write()',
        name
      );
    END LOOP;
  END $body$
`

export async function watchWrites(db: Db): Promise<WriteWatch> {
  await db.query(WATCH)
  return {
    written: async () => {
      const { rows } = await db.query<{ name: string; n: number; changed: boolean }>(sql`
        WITH seen AS (DELETE FROM test_writes RETURNING name, operation)
        SELECT name, count(*) AS n, bool_or(operation <> 'INSERT') AS changed
        FROM seen
        GROUP BY name
      `)
      return {
        rows: Object.fromEntries(rows.map(({ name, n }) => [name, n])),
        hasChanges: rows.some(({ changed }) => changed),
      }
    },
  }
}
