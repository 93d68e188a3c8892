/**
 * Bodies and attachments are compressed with lz4, or not at all on a server that was built without it. Compressing with
 * pglz, which servers do by default, took a third of PostgreSQL's CPU time for a message (decision 120).
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

/** Changes columns of the partitions, too; a new partition is made like its table. `how` is an SQL expression. */
const change = (how: string): string => sql`
  DO $body$
  DECLARE
    how text := ${how};
    name regclass;
  BEGIN
    FOR name IN (SELECT relid FROM pg_partition_tree('message_bodies')) LOOP
      EXECUTE format('ALTER TABLE ONLY %1$s ALTER html SET %2$s, ALTER body_text SET %2$s', name, how);
    END LOOP;
    FOR name IN (SELECT relid FROM pg_partition_tree('attachments')) LOOP
      EXECUTE format('ALTER TABLE ONLY %1$s ALTER content SET %2$s', name, how);
    END LOOP;
  END $body$`

const SUITABLE = sql`
  (SELECT CASE WHEN 'lz4' = ANY (enumvals) THEN 'COMPRESSION lz4' ELSE 'STORAGE EXTERNAL' END
    FROM pg_settings
    WHERE pg_settings.name = 'default_toast_compression')`

export const steps: readonly MigrationStep[] = [
  brief(change(SUITABLE), 'compress message_bodies and attachments with lz4, or not at all without it'),
]
export const undo: readonly MigrationStep[] = [
  brief(change("'COMPRESSION DEFAULT'"), 'compress with the default of the server'),
  brief(change("'STORAGE EXTENDED'"), 'compress everywhere'),
]
