/**
 * DKIM names that are delegated to a zone of the operator by CNAME: the zone of a domain, the name in it of each key,
 * the state `revoked`, and the records of the zone with what is published of them. A trigger writes the records in the
 * transaction that changes a key, also when a domain is deleted with its keys; src/domains/dkim-zone.ts publishes them.
 * The trigger does not end a running claim: its command could finish after that of the next claim, with the old value.
 * Changes by a schedule have an actor of their own in the audit log.
 */
import { brief, buildIndex, type MigrationStep, validate } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  ALTER TABLE domains
    ADD dkim_zone text,                         -- null: its keys are TXT records in the zone of the domain
    ADD rotation_tried_at timestamptz;          -- when the schedule last considered it
  ALTER TABLE dkim_keys
    ADD target text,                            -- where the CNAME of its selector points; null: a TXT record
    DROP CONSTRAINT dkim_keys_state_check,
    ADD CONSTRAINT dkim_keys_state_check
      CHECK (state IN ('waiting', 'active', 'retired', 'removable', 'revoked')) NOT VALID;

  CREATE TABLE dkim_zone_records (
    name text PRIMARY KEY,
    value text,                                 -- null: the name must have no record
    published text,                             -- the value that was published last
    changed_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz DEFAULT now(),           -- null: it is published; claimed_until while nothing has changed since
    claimed_until timestamptz,                  -- a worker publishes it until then, also if it changes meanwhile
    attempts integer NOT NULL DEFAULT 0,
    problem text
  );
  CREATE INDEX dkim_zone_records_due ON dkim_zone_records (due_at) WHERE due_at IS NOT NULL;

  ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_kind,
    ADD CONSTRAINT audit_log_actor_kind
      CHECK (actor_kind IN ('key', 'operator', 'cli', 'mailbox', 'schedule')) NOT VALID;
`

const TRIGGER = sql`
  CREATE FUNCTION queue_dkim_zone_record() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    IF TG_OP = 'DELETE' THEN
      UPDATE dkim_zone_records
      SET value = NULL, changed_at = now(), due_at = now(), attempts = 0, problem = NULL
      WHERE name = OLD.target;
      RETURN NULL;
    END IF;
    INSERT INTO dkim_zone_records AS r (name, value)
    VALUES (
      NEW.target,
      CASE WHEN NEW.state = 'revoked' THEN regexp_replace(NEW.dns_value, 'p=.*$', 'p=') ELSE NEW.dns_value END
    )
    ON CONFLICT (name) DO UPDATE
    SET value = excluded.value, changed_at = now(), due_at = now(), attempts = 0, problem = NULL
    WHERE r.value IS DISTINCT FROM excluded.value;
    RETURN NULL;
  END $body$;
  CREATE TRIGGER dkim_zone_added AFTER INSERT OR UPDATE OF state, target, dns_value ON dkim_keys
  FOR EACH ROW WHEN (NEW.target IS NOT NULL) EXECUTE FUNCTION queue_dkim_zone_record();
  CREATE TRIGGER dkim_zone_removed AFTER DELETE ON dkim_keys
  FOR EACH ROW WHEN (OLD.target IS NOT NULL) EXECUTE FUNCTION queue_dkim_zone_record();
`

const UNDO = sql`
  DROP TRIGGER dkim_zone_added ON dkim_keys;
  DROP TRIGGER dkim_zone_removed ON dkim_keys;
  DROP FUNCTION queue_dkim_zone_record;
  DROP TABLE dkim_zone_records;
  DROP INDEX dkim_keys_age;
  ALTER TABLE dkim_keys DROP CONSTRAINT dkim_keys_state_check;
  UPDATE dkim_keys
  SET state = 'removable'
  WHERE state = 'revoked';
  ALTER TABLE dkim_keys
    DROP target,
    ADD CONSTRAINT dkim_keys_state_check
      CHECK (state IN ('waiting', 'active', 'retired', 'removable')) NOT VALID;
  ALTER TABLE domains DROP dkim_zone, DROP rotation_tried_at;
  DELETE FROM audit_log
  WHERE actor_kind = 'schedule';
  ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_kind,
    ADD CONSTRAINT audit_log_actor_kind CHECK (actor_kind IN ('key', 'operator', 'cli', 'mailbox')) NOT VALID;
`

const CHECKED = [validate('dkim_keys', 'dkim_keys_state_check'), validate('audit_log', 'audit_log_actor_kind')]

export const steps: readonly MigrationStep[] = [
  brief(UP, 'add the zone of DKIM keys'),
  brief(TRIGGER, 'record changes of DKIM keys for the zone'),
  ...CHECKED,
  buildIndex({
    table: 'dkim_keys',
    name: 'dkim_keys_age',
    on: `(state_since) WHERE state = 'active' AND algorithm = 'rsa-sha256'`,
  }),
]

export const undo: readonly MigrationStep[] = [brief(UNDO, 'remove the zone of DKIM keys'), ...CHECKED]
