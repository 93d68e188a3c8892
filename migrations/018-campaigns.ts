/**
 * Sending campaigns: deferred content of messages, the states of the ledger, and statistics.
 *
 * A message with deferred content refers to content and contact; it is rendered when it is sent. Content is immutable.
 * Triggers record statistics as one row of counter deltas for each statement that changes the ledger, and the worker
 * merges them in batches. Merged and unmerged rows are in the same table, so the sum is always exact and no statement
 * waits for a counter.
 */
import { brief, buildIndex, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const RECIPES = sql`
  ALTER TABLE messages
    ADD COLUMN content_id uuid,                 -- of mail_contents: subject and body are rendered when it is sent
    ADD COLUMN contact_id uuid,                 -- the recipient
    ADD COLUMN audience_id uuid,                -- the audience that the contact is a member of
    ADD COLUMN campaign_id uuid,
    ADD COLUMN params jsonb;                    -- further variables, such as {"event": {…}}
  ALTER TABLE recipients ADD COLUMN campaign_id uuid; -- read by claims, so that a pause takes effect at once
  CREATE TABLE mail_contents (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    template_id uuid,                           -- null: not made from a template
    template_version integer,
    subject text NOT NULL,                      -- subject, html and body_text are Handlebars
    html text,
    body_text text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT mail_contents_body CHECK (html IS NOT NULL OR body_text IS NOT NULL)
  );
  CREATE INDEX mail_contents_workspace ON mail_contents (workspace_id);
`

const CAMPAIGNS = sql`
  ALTER TABLE campaigns
    ADD COLUMN subject_b text,                  -- the second subject of an A/B test
    ADD COLUMN test_percent smallint CONSTRAINT campaigns_test_percent CHECK (test_percent BETWEEN 1 AND 100),
    -- After that, the winner goes to all other recipients.
    ADD COLUMN test_minutes integer CONSTRAINT campaigns_test_minutes CHECK (test_minutes > 0),
    ADD COLUMN winner text CONSTRAINT campaigns_winner CHECK (winner IN ('a', 'b')),
    ADD COLUMN send_mode text NOT NULL DEFAULT 'at_once'
      CONSTRAINT campaigns_send_mode CHECK (send_mode IN ('at_once', 'recipient_time', 'spread')),
    ADD COLUMN spread_minutes integer CONSTRAINT campaigns_spread CHECK (spread_minutes > 0),
    ADD COLUMN local_time text,                 -- of recipient_time: local time, ISO 8601 without an offset
    ADD COLUMN starts_at timestamptz,           -- when it leaves SCHEDULED; recipient_time: in the first time zone
    ADD COLUMN track_opens boolean,             -- null: the workspace's setting
    ADD COLUMN track_clicks boolean,
    ADD COLUMN is_forced boolean NOT NULL DEFAULT false,
    ADD COLUMN follows_id uuid,                 -- sent to recipients of that campaign who did not open it
    ADD COLUMN domain_id uuid,                  -- the sending domain, set at the start
    ADD COLUMN content_id uuid,                 -- what is sent, set at the start
    ADD COLUMN content_b_id uuid,
    ADD COLUMN reason text,                     -- why it is PAUSED or FAILED, as text
    ADD COLUMN is_open boolean NOT NULL DEFAULT false, -- the worker has work to do for it
    ADD COLUMN is_written boolean NOT NULL DEFAULT false, -- the ledger is complete
    ADD COLUMN last_contact_id uuid,            -- the last contact in the ledger
    ADD COLUMN written bigint NOT NULL DEFAULT 0,
    ADD COLUMN generation smallint NOT NULL DEFAULT 1, -- incremented by each retry of failed recipients
    ADD COLUMN is_retrying boolean NOT NULL DEFAULT false, -- failed rows are reopened, up to retried_id
    ADD COLUMN retried_id uuid,
    ADD COLUMN dispatched_at timestamptz,       -- when it last put mail into the queue
    ADD COLUMN slow text[] NOT NULL DEFAULT '{}', -- slow receivers: their rows wait apart
    ADD COLUMN started_at timestamptz,
    ADD COLUMN sent_at timestamptz,
    ADD COLUMN ended_at timestamptz;            -- COMPLETED, FAILED or CANCELLED
  ALTER TABLE campaigns SET (fillfactor = 50);
  CREATE INDEX campaigns_open ON campaigns (id) WHERE is_open;
`

/** Before this version no campaign was ever started, so no existing ledger lacks these columns. */
const LEDGER = sql`
  ALTER TABLE campaign_recipients
    -- Each row would lock the one campaign that all share; a campaign that started is never deleted.
    DROP CONSTRAINT campaign_recipients_campaign_id_fkey,
    ADD COLUMN audience_id uuid,                -- the audience that the contact is a member of
    ADD COLUMN state text NOT NULL DEFAULT 'waiting' CONSTRAINT campaign_recipients_state CHECK (
      state IN (
        'waiting', 'dispatched', 'deferred', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'skipped',
        'cancelled'
      )
    ),
    -- A separate column so that all transitions after the dispatch stay HOT updates.
    ADD COLUMN is_waiting boolean NOT NULL DEFAULT true,
    ADD COLUMN sends_at timestamptz NOT NULL DEFAULT now(), -- not earlier
    ADD COLUMN apart text,                      -- the slow receiver it waits for, so that other rows overtake it
    ADD COLUMN reason text,                     -- why it is in this state, as text
    -- Of an A/B test; the other recipients get the winner.
    ADD COLUMN variant text CONSTRAINT campaign_recipients_variant CHECK (variant IN ('a', 'b')),
    ADD COLUMN generation smallint NOT NULL DEFAULT 1,
    ADD COLUMN machine_opened_at timestamptz,   -- by a scanner or a proxy, not by a person
    ADD COLUMN machine_clicked_at timestamptz,
    ADD COLUMN complained_at timestamptz,
    ADD COLUMN unsubscribed_at timestamptz;
  ALTER TABLE campaign_recipients SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1);
  -- Unique, so that a plan made for an empty ledger uses it instead of reading the whole campaign.
  DROP INDEX campaign_recipients_message;
  CREATE UNIQUE INDEX campaign_recipients_message ON campaign_recipients (message_id) WHERE message_id IS NOT NULL;
  CREATE INDEX campaign_recipients_waiting ON campaign_recipients (campaign_id, sends_at, contact_id)
    WHERE is_waiting AND apart IS NULL;
  CREATE INDEX campaign_recipients_apart ON campaign_recipients (campaign_id, apart, sends_at, contact_id)
    WHERE apart IS NOT NULL;
`

/** The condition on a ledger row that each statistic counts. */
const FIGURES = {
  recipients: 'true',
  waiting: 'is_waiting',
  ahead: `state = 'dispatched'`, // in the queue, without a result yet
  settled: `NOT is_waiting AND state NOT IN ('dispatched', 'deferred')`,
  dispatched: 'dispatched_at IS NOT NULL',
  delivered: 'delivered_at IS NOT NULL',
  opened: 'opened_at IS NOT NULL',
  clicked: 'clicked_at IS NOT NULL',
  bounced_hard: `bounce_type = 'hard'`,
  bounced_soft: `bounce_type = 'soft'`,
  failed: 'failed_at IS NOT NULL',
  complained: 'complained_at IS NOT NULL',
  unsubscribed: 'unsubscribed_at IS NOT NULL',
  machine_opened: 'machine_opened_at IS NOT NULL',
  machine_clicked: 'machine_clicked_at IS NOT NULL',
  suppressed: `state = 'suppressed'`,
  skipped: `state = 'skipped'`,
  cancelled: `state = 'cancelled'`,
} as const
const NAMES = Object.keys(FIGURES)
const SUMS = Object.entries(FIGURES)
  .map(([name, is]) => `sum(CASE WHEN ${is} THEN side ELSE 0 END) AS ${name}`)
  .join(', ')

const noteFunction = (name: string, rows: string): string => sql`
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    INSERT INTO campaign_changes (campaign_id, variant, ${NAMES.join(', ')})
    SELECT campaign_id, variant, ${NAMES.join(', ')}
    FROM (
      SELECT campaign_id, variant, ${SUMS}
      FROM (${rows}) r
      GROUP BY campaign_id, variant
    ) c
    WHERE (${NAMES.map((figure) => `${figure} <> 0`).join(' OR ')});
    RETURN NULL;
  END $body$;
`

const ADDED = 'SELECT 1 AS side, a.* FROM added a'
const CHANGES = sql`
  CREATE TABLE campaign_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id uuid NOT NULL,
    variant text,
    ${NAMES.map((name) => `${name} bigint NOT NULL`).join(',\n  ')}
  ) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1
  );
  CREATE INDEX campaign_changes_campaign ON campaign_changes (campaign_id);
  ${noteFunction('note_added_recipients', ADDED)}
  ${noteFunction('note_moved_recipients', `${ADDED} UNION ALL SELECT -1, o.* FROM removed o`)}
  CREATE TRIGGER note_added AFTER INSERT ON campaign_recipients REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_added_recipients();
  CREATE TRIGGER note_moved AFTER UPDATE ON campaign_recipients REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_moved_recipients();
`

export const steps: readonly MigrationStep[] = [
  brief(RECIPES, 'add deferred content'),
  brief([CAMPAIGNS, LEDGER, CHANGES].join('\n'), 'add the ledger and the statistics of campaigns'),
  // a campaign's mail in the queue; other mail is not in the index
  buildIndex({
    table: 'recipients',
    name: 'recipients_campaign',
    on: '(campaign_id) WHERE is_open AND campaign_id IS NOT NULL',
  }),
]

/** The columns that `up` adds to tables of earlier migrations. */
const ADDED_TO_CAMPAIGNS = [
  'subject_b',
  'test_percent',
  'test_minutes',
  'winner',
  'send_mode',
  'spread_minutes',
  'local_time',
  'starts_at',
  'track_opens',
  'track_clicks',
  'is_forced',
  'follows_id',
  'domain_id',
  'content_id',
  'content_b_id',
  'reason',
  'is_open',
  'is_written',
  'last_contact_id',
  'written',
  'generation',
  'is_retrying',
  'retried_id',
  'dispatched_at',
  'slow',
  'started_at',
  'sent_at',
  'ended_at',
]

const ADDED_TO_LEDGER = [
  'audience_id',
  'state',
  'is_waiting',
  'sends_at',
  'apart',
  'reason',
  'variant',
  'generation',
  'machine_opened_at',
  'machine_clicked_at',
  'complained_at',
  'unsubscribed_at',
]

const dropAll = (columns: readonly string[]): string => columns.map((column) => `DROP COLUMN ${column}`).join(', ')

export const undo: readonly MigrationStep[] = [
  brief(sql`
    DROP TRIGGER note_added ON campaign_recipients;
    DROP TRIGGER note_moved ON campaign_recipients;
    DROP FUNCTION note_added_recipients, note_moved_recipients;
    DROP TABLE campaign_changes, mail_contents;
    ALTER TABLE campaigns RESET (fillfactor);
    ALTER TABLE campaigns ${dropAll(ADDED_TO_CAMPAIGNS)};
    DROP INDEX campaign_recipients_message;
    CREATE INDEX campaign_recipients_message ON campaign_recipients (message_id) WHERE message_id IS NOT NULL;
    DELETE FROM campaign_recipients
    WHERE campaign_id NOT IN (SELECT id FROM campaigns);
    ALTER TABLE campaign_recipients RESET (fillfactor, autovacuum_vacuum_scale_factor);
    ALTER TABLE campaign_recipients
      ${dropAll(ADDED_TO_LEDGER)},
      ADD CONSTRAINT campaign_recipients_campaign_id_fkey
        FOREIGN KEY (campaign_id) REFERENCES campaigns ON DELETE CASCADE;
    ALTER TABLE recipients DROP COLUMN campaign_id;
    ALTER TABLE messages
      DROP COLUMN content_id,
      DROP COLUMN contact_id,
      DROP COLUMN audience_id,
      DROP COLUMN campaign_id,
      DROP COLUMN params
  `),
]
