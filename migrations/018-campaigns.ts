/**
 * Campaigns that are sent: the recipe of a mail, the ledger's states, and its figures.
 *
 * A recipe is a message that names content and contact in place of a text; what it says is made when it is sent. Content is never changed.
 * The figures of a campaign are noted a row for each statement that touches its ledger, whoever makes it, and folded in batches: what has
 * been folded and what has not stand in the same table, so that the sum is exact at any moment and nobody waits for a counter.
 */
import type { Knex } from 'knex'

const RECIPES = `
ALTER TABLE messages
  ADD COLUMN content_id uuid,                 -- of mail_contents: subject and body are made when it is sent
  ADD COLUMN contact_id uuid,                 -- for whom
  ADD COLUMN audience_id uuid,                -- as a member of which
  ADD COLUMN campaign_id uuid,
  ADD COLUMN params jsonb;                    -- further variables, such as {"event": {…}}
ALTER TABLE recipients ADD COLUMN campaign_id uuid; -- where claims look, so that a pause holds at once
CREATE TABLE mail_contents (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  template_id uuid,                           -- what it was made of, if of a template
  template_version integer,
  subject text NOT NULL,                      -- all three Handlebars, ready to be rendered
  html text,
  body_text text,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT mail_contents_body CHECK (html IS NOT NULL OR body_text IS NOT NULL)
);
CREATE INDEX mail_contents_workspace ON mail_contents (workspace_id);
`

const CAMPAIGNS = `
ALTER TABLE campaigns
  ADD COLUMN subject_b text,                  -- the other subject of a test
  ADD COLUMN test_percent smallint CONSTRAINT campaigns_test_percent CHECK (test_percent BETWEEN 1 AND 100),
  ADD COLUMN test_minutes integer CONSTRAINT campaigns_test_minutes CHECK (test_minutes > 0), -- then the winner goes to all others
  ADD COLUMN winner text CONSTRAINT campaigns_winner CHECK (winner IN ('a', 'b')),
  ADD COLUMN send_mode text NOT NULL DEFAULT 'at_once'
    CONSTRAINT campaigns_send_mode CHECK (send_mode IN ('at_once', 'recipient_time', 'spread')),
  ADD COLUMN spread_minutes integer CONSTRAINT campaigns_spread CHECK (spread_minutes > 0),
  ADD COLUMN local_time text,                 -- the wall clock of recipient_time, as ISO 8601 without an offset
  ADD COLUMN starts_at timestamptz,           -- when it leaves SCHEDULED; of recipient_time the first zone's moment
  ADD COLUMN track_opens boolean,             -- null: as the workspace has it
  ADD COLUMN track_clicks boolean,
  ADD COLUMN is_forced boolean NOT NULL DEFAULT false,
  ADD COLUMN follows_id uuid,                 -- goes to those of that campaign who got it and did not open it
  ADD COLUMN domain_id uuid,                  -- the sending domain since the start
  ADD COLUMN content_id uuid,                 -- what is sent since the start
  ADD COLUMN content_b_id uuid,
  ADD COLUMN reason text,                     -- why it is PAUSED or FAILED, for people
  ADD COLUMN is_open boolean NOT NULL DEFAULT false, -- the worker has something to do with it
  ADD COLUMN is_written boolean NOT NULL DEFAULT false, -- the ledger is whole
  ADD COLUMN last_contact_id uuid,            -- as far as the ledger is written
  ADD COLUMN written bigint NOT NULL DEFAULT 0,
  ADD COLUMN generation smallint NOT NULL DEFAULT 1, -- one more with each retry of what failed
  ADD COLUMN is_retrying boolean NOT NULL DEFAULT false, -- failed rows are being opened again, as far as
  ADD COLUMN retried_id uuid,
  ADD COLUMN dispatched_at timestamptz,       -- when mail of it last went into the queue
  ADD COLUMN slow text[] NOT NULL DEFAULT '{}', -- receivers that hold it up: their rows wait apart
  ADD COLUMN started_at timestamptz,
  ADD COLUMN sent_at timestamptz,
  ADD COLUMN ended_at timestamptz;            -- COMPLETED, FAILED or CANCELLED
ALTER TABLE campaigns SET (fillfactor = 50);
CREATE INDEX campaigns_open ON campaigns (id) WHERE is_open;
`

/** Only campaigns that never began were there before, so there is no ledger that lacks anything. */
const LEDGER = `
ALTER TABLE campaign_recipients
  DROP CONSTRAINT campaign_recipients_campaign_id_fkey, -- each row would lock the one campaign that all share; what began is never deleted
  ADD COLUMN audience_id uuid,                -- as a member of which audience
  ADD COLUMN state text NOT NULL DEFAULT 'waiting' CONSTRAINT campaign_recipients_state CHECK (state IN (
    'waiting', 'dispatched', 'deferred', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'skipped', 'cancelled')),
  ADD COLUMN is_waiting boolean NOT NULL DEFAULT true, -- apart from state so that all moves after the dispatch stay HOT updates
  ADD COLUMN sends_at timestamptz NOT NULL DEFAULT now(), -- not earlier
  ADD COLUMN apart text,                      -- waits for this slow receiver, so that others pass it by
  ADD COLUMN reason text,                     -- why it is in this state, for people
  ADD COLUMN variant text CONSTRAINT campaign_recipients_variant CHECK (variant IN ('a', 'b')), -- of a test; the rest gets the winner
  ADD COLUMN generation smallint NOT NULL DEFAULT 1,
  ADD COLUMN machine_opened_at timestamptz,   -- by a scanner or a proxy, not by a person
  ADD COLUMN machine_clicked_at timestamptz,
  ADD COLUMN complained_at timestamptz,
  ADD COLUMN unsubscribed_at timestamptz;
ALTER TABLE campaign_recipients SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1);
-- unique, so that a plan made for an empty ledger goes by it and not through the whole campaign
DROP INDEX campaign_recipients_message;
CREATE UNIQUE INDEX campaign_recipients_message ON campaign_recipients (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX campaign_recipients_waiting ON campaign_recipients (campaign_id, sends_at, contact_id) WHERE is_waiting AND apart IS NULL;
CREATE INDEX campaign_recipients_apart ON campaign_recipients (campaign_id, apart, sends_at, contact_id) WHERE apart IS NOT NULL;
-- what of a campaign is in the queue; other mail is not in it
CREATE INDEX recipients_campaign ON recipients (campaign_id) WHERE is_open AND campaign_id IS NOT NULL;
`

/** Each figure as what it counts of a ledger row. */
const FIGURES = {
  recipients: 'true',
  waiting: 'is_waiting',
  ahead: `state = 'dispatched'`, // in the queue, and nothing has become of it yet
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

const noteFunction = (name: string, rows: string): string => `
CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO campaign_changes (campaign_id, variant, ${NAMES.join(', ')})
  SELECT campaign_id, variant, ${NAMES.join(', ')} FROM (
    SELECT campaign_id, variant, ${SUMS} FROM (${rows}) r GROUP BY campaign_id, variant) c
  WHERE (${NAMES.map((figure) => `${figure} <> 0`).join(' OR ')});
  RETURN NULL;
END $body$;`

const ADDED = 'SELECT 1 AS side, a.* FROM added a'
const CHANGES = `
CREATE TABLE campaign_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  campaign_id uuid NOT NULL,
  variant text,
  ${NAMES.map((name) => `${name} bigint NOT NULL`).join(',\n  ')}
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
CREATE INDEX campaign_changes_campaign ON campaign_changes (campaign_id);
${noteFunction('note_added_recipients', ADDED)}
${noteFunction('note_moved_recipients', `${ADDED} UNION ALL SELECT -1, o.* FROM removed o`)}
CREATE TRIGGER note_added AFTER INSERT ON campaign_recipients REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION note_added_recipients();
CREATE TRIGGER note_moved AFTER UPDATE ON campaign_recipients REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION note_moved_recipients();
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(RECIPES + CAMPAIGNS + LEDGER + CHANGES)
}

export async function down(knex: Knex): Promise<void> {
  const campaign = [
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
  const ledger = [
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
  await knex.raw(`
    DROP TRIGGER note_added ON campaign_recipients;
    DROP TRIGGER note_moved ON campaign_recipients;
    DROP FUNCTION note_added_recipients, note_moved_recipients;
    DROP TABLE campaign_changes, mail_contents;
    ALTER TABLE campaigns RESET (fillfactor);
    ALTER TABLE campaigns ${dropAll(campaign)};
    DROP INDEX campaign_recipients_message;
    CREATE INDEX campaign_recipients_message ON campaign_recipients (message_id) WHERE message_id IS NOT NULL;
    DELETE FROM campaign_recipients WHERE campaign_id NOT IN (SELECT id FROM campaigns);
    ALTER TABLE campaign_recipients RESET (fillfactor, autovacuum_vacuum_scale_factor);
    ALTER TABLE campaign_recipients ${dropAll(ledger)},
      ADD CONSTRAINT campaign_recipients_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns ON DELETE CASCADE;
    ALTER TABLE recipients DROP COLUMN campaign_id;
    ALTER TABLE messages DROP COLUMN content_id, DROP COLUMN contact_id, DROP COLUMN audience_id, DROP COLUMN campaign_id, DROP COLUMN params`)
}
