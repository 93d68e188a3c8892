/**
 * Operator tables: suspensions with an end and for more than destinations; the audit log with the progress of actions;
 * the site of each domain; and dry runs.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const SUSPENSIONS = sql`
  ALTER TABLE suspensions RENAME COLUMN domain TO subject;
  ALTER TABLE suspensions
    ADD COLUMN kind text NOT NULL DEFAULT 'domain'
      CONSTRAINT suspensions_kind CHECK (kind IN ('domain', 'site', 'workspace', 'campaign')),
    -- The claim reads these as ids.
    ADD CONSTRAINT suspensions_id CHECK (
      kind IN ('domain', 'site')
      OR subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    ),
    ADD COLUMN until timestamptz,               -- null: until it is resumed
    DROP CONSTRAINT suspensions_pkey,
    ADD CONSTRAINT suspensions_pkey PRIMARY KEY (kind, subject);
  CREATE INDEX suspensions_until ON suspensions (until) WHERE until IS NOT NULL;
`

const ACTIONS = sql`
  -- Every change by an operator: the queue of long-running ones, and the record of all.
  CREATE TABLE operator_actions (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time it began
    verb text NOT NULL
      CONSTRAINT operator_actions_verb
      CHECK (verb IN ('retry', 'drop', 'bounce', 'suspend', 'resume', 'pool', 'dry-run')),
    subject jsonb NOT NULL,                     -- the messages, or what was suspended
    reason text NOT NULL,
    done_by text NOT NULL,
    state text NOT NULL CONSTRAINT operator_actions_state CHECK (state IN ('running', 'done')),
    moved bigint NOT NULL DEFAULT 0,
    seen bigint NOT NULL DEFAULT 0,
    place jsonb,                                -- where its next slice starts
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    ended_at timestamptz
  );
  CREATE INDEX operator_actions_running ON operator_actions (id) WHERE state = 'running';
`

const SITES = sql`
  -- Written by outbound processes as they resolve domains.
  CREATE TABLE domain_sites (
    domain text PRIMARY KEY,
    site text NOT NULL,
    seen_at timestamptz NOT NULL
  );
  CREATE INDEX domain_sites_site ON domain_sites (site);
`

const DRY_RUNS = sql`
  -- Requested by the API, which opens no SMTP connections; answered by an outbound process.
  CREATE TABLE dry_runs (
    id uuid PRIMARY KEY,                        -- UUIDv7: the time of the request
    wanted jsonb NOT NULL,
    raw bytea,                                  -- the message, if one was given
    taken_until timestamptz NOT NULL DEFAULT '-infinity',
    report jsonb
  );
  CREATE INDEX dry_runs_waiting ON dry_runs (id) WHERE report IS NULL;
`

export const steps: readonly MigrationStep[] = [
  brief([SUSPENSIONS, ACTIONS, SITES, DRY_RUNS].join('\n')),
  // finds a campaign by one of its messages
  buildIndex({
    table: 'campaign_recipients',
    name: 'campaign_recipients_message',
    on: '(message_id) WHERE message_id IS NOT NULL',
  }),
]

export const undo: readonly MigrationStep[] = [
  brief(sql`
    DROP TABLE dry_runs, domain_sites, operator_actions;
    DROP INDEX campaign_recipients_message;
    DELETE FROM suspensions
    WHERE kind <> 'domain';
    DROP INDEX suspensions_until;
    ALTER TABLE suspensions
      DROP CONSTRAINT suspensions_pkey,
      DROP CONSTRAINT suspensions_id,
      DROP COLUMN kind,
      DROP COLUMN until;
    ALTER TABLE suspensions RENAME COLUMN subject TO domain;
    ALTER TABLE suspensions ADD CONSTRAINT suspensions_pkey PRIMARY KEY (domain)
  `),
]
