/**
 * Listings of an audience in an order that changes while it is read. A snapshot is the order at one moment: blocks of
 * 1,000 contact ids. A listing is one reading of a snapshot by an API key; `next_page` tells listings of the same key
 * apart. Rows that are no longer read are deleted after an hour.
 */
import type { Knex } from 'knex'
import { sql } from '#src/stores/sql.ts'

const UP = sql`
  CREATE TABLE member_snapshots (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    audience_id uuid NOT NULL,
    sort text NOT NULL,
    is_subscribed_only boolean NOT NULL,
    total integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    read_at timestamptz NOT NULL DEFAULT now() -- to the minute
  );
  CREATE INDEX member_snapshots_audience ON member_snapshots (audience_id, sort, is_subscribed_only, created_at);
  CREATE INDEX member_snapshots_workspace ON member_snapshots (workspace_id);
  CREATE TABLE member_snapshot_blocks (
    snapshot_id uuid NOT NULL REFERENCES member_snapshots ON DELETE CASCADE,
    block integer NOT NULL, -- positions block * 1000 to block * 1000 + 999, ascending
    contact_ids uuid[] NOT NULL,
    PRIMARY KEY (snapshot_id, block)
  );
  ALTER TABLE member_snapshot_blocks ALTER contact_ids SET STORAGE EXTERNAL; -- ids hardly compress
  CREATE TABLE member_listings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    snapshot_id uuid NOT NULL REFERENCES member_snapshots ON DELETE CASCADE,
    key_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    sort text NOT NULL,
    is_subscribed_only boolean NOT NULL,
    is_ascending boolean NOT NULL,
    page_size integer NOT NULL,
    next_page integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    read_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX member_listings_reader ON member_listings (key_id, audience_id);
  CREATE INDEX member_listings_snapshot ON member_listings (snapshot_id);
`

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE member_listings, member_snapshot_blocks, member_snapshots')
}
