/**
 * Rewrites of partitions (src/retention/partition-rewrites.ts): the rewrite that runs with its position, and notes of
 * the rows that change meanwhile, which a trigger on the replaced partitions writes. Partitions of new mail have no
 * such trigger.
 */
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const TABLES = sql`
  CREATE TABLE partition_rewrites (
    target text PRIMARY KEY,                    -- the partition that is filled; it is not attached yet
    of_table text NOT NULL,
    sources text[] NOT NULL,                    -- the partitions that it replaces
    is_open_only boolean NOT NULL,              -- only mail that is still to be sent is copied
    structure text NOT NULL,                    -- digest of columns, constraints and indexes at the begin
    files bigint[] NOT NULL,                    -- relfilenodes of the sources: pages of another file are others
    source smallint NOT NULL DEFAULT 0,         -- where the copy is: the index of a source, and its page
    page bigint NOT NULL DEFAULT 0,
    is_vacuumed boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE rewrite_notes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target text NOT NULL,
    id uuid NOT NULL,                           -- in the column by which the table is partitioned
    workspace_id uuid,                          -- where the index of the table begins with it
    tag text,
    tx xid8
  );
`

/** Arguments: the target, and the table. */
const TRIGGER = sql`
  CREATE FUNCTION note_rewritten_row() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    IF TG_ARGV[1] = 'messages' THEN
      INSERT INTO rewrite_notes (target, id)
      SELECT TG_ARGV[0], CASE TG_OP WHEN 'DELETE' THEN OLD.id ELSE NEW.id END;
    ELSIF TG_ARGV[1] = 'events' THEN
      IF TG_OP <> 'INSERT' THEN
        INSERT INTO rewrite_notes (target, id, workspace_id, tx)
        VALUES (TG_ARGV[0], OLD.id, OLD.workspace_id, OLD.tx);
      END IF;
      IF TG_OP <> 'DELETE' THEN
        INSERT INTO rewrite_notes (target, id, workspace_id, tx)
        VALUES (TG_ARGV[0], NEW.id, NEW.workspace_id, NEW.tx);
      END IF;
    ELSIF TG_ARGV[1] = 'message_tags' THEN
      IF TG_OP <> 'INSERT' THEN
        INSERT INTO rewrite_notes (target, id, workspace_id, tag)
        VALUES (TG_ARGV[0], OLD.message_id, OLD.workspace_id, OLD.tag);
      END IF;
      IF TG_OP <> 'DELETE' THEN
        INSERT INTO rewrite_notes (target, id, workspace_id, tag)
        VALUES (TG_ARGV[0], NEW.message_id, NEW.workspace_id, NEW.tag);
      END IF;
    ELSE
      INSERT INTO rewrite_notes (target, id)
      SELECT TG_ARGV[0], CASE TG_OP WHEN 'DELETE' THEN OLD.message_id ELSE NEW.message_id END;
    END IF;
    RETURN NULL;
  END
  $body$;
`

/** An unfinished rewrite ends: the partitions that it would have replaced are complete. */
const DOWN = sql`
  DO $body$
  DECLARE
    unfinished text;
  BEGIN
    FOR unfinished IN
      SELECT target
      FROM partition_rewrites
    LOOP
      EXECUTE format('DROP TABLE IF EXISTS %I', unfinished);
    END LOOP;
  END $body$;
  DROP FUNCTION note_rewritten_row CASCADE;
  DROP TABLE rewrite_notes;
  DROP TABLE partition_rewrites;
`

export const steps: readonly MigrationStep[] = [brief(`${TABLES}\n${TRIGGER}`, 'create partition_rewrites')]
export const undo: readonly MigrationStep[] = [brief(DOWN, 'drop partition_rewrites')]
