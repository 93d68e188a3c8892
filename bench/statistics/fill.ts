/**
 * SQL that fills a database for the benchmark of statistics: a year of rows as 10,000,000 messages of one workspace
 * leave them, and a stream of events.
 */
import { sql } from '#src/stores/sql.ts'
import { COUNTER_NAMES } from '#src/statistics/dimensions.ts'

/** Values that a dimension has in a period at once. */
export const VALUES: Readonly<Record<string, number>> = {
  all: 1,
  tier: 4,
  receiver: 100,
  domain: 5,
  source: 16,
  class: 20,
  tag: 100,
  campaign: 10,
  template: 50,
  workspace: 1,
}

/** By counters, three each: large, small, rare, and those of tracking. */
const COUNT_OF = [
  'greatest(1, $5::float8 / VALUES)::int',
  '(1 + v % 3)::int',
  'NULL',
  'NULL',
  '(1 + v % 7)::int',
  '(1 + v % 7)::int',
]

/** Rows of a resolution from $2 to before $3 with a step of $4; $5: messages in a period. */
export const FILL_ROWS = (dimension: string, values: number): string => sql`
  INSERT INTO statistics (workspace_id, dimension, at, resolution, value, ${COUNTER_NAMES.join(', ')})
  SELECT $1::uuid, '${dimension}', at, $6::int, ${dimension === 'all' ? `''` : `'${dimension}-value-' || v`},
    ${COUNTER_NAMES.map((_, i) => COUNT_OF[Math.floor(i / 3)]?.replace('VALUES', String(values)) ?? 'NULL').join(', ')}
  FROM generate_series($2::timestamptz, $3::timestamptz - interval '1 second', $4::interval) at,
    generate_series(1, ${values}) v
  WHERE ${values} = 1 OR v <= greatest(1, $5::float8)`

/** $1 messages of $2 workspaces, accepted in this minute, as one transaction of accepts stores them. */
export const ACCEPT = sql`
  WITH input AS MATERIALIZED (
    SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7'
        || substr(md5(random()::text), 1, 3)
        || '8' || substr(md5(random()::text), 1, 15))::uuid AS id,
      ($2::uuid[])[1 + i % array_length($2::uuid[], 1)] AS workspace_id, i
    FROM generate_series(1, $1::int) i
  ),
  stored AS (
    INSERT INTO messages (id, workspace_id, tier, from_email, to_list, subject, html, content_size,
      recipient_count, tags,
      template, created_at)
    SELECT id, workspace_id, ('{instant,high,normal,bulk}'::text[])[1 + i % 4], 'news@sender' || i % 3 || '.example',
      '[]',
      'Subject', repeat('<p>text</p>', 300), 3300, 1, ARRAY['tag ' || i % 37, 'kind:' || i % 5],
      jsonb_build_object('id', md5((i % 20)::text)::uuid, 'version', 1), now()
    FROM input
  ),
  raised AS (
    INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, created_at)
    SELECT id, workspace_id, 'email.queued', id, 0, 1, 'r' || i || '@d' || i % 500 || '.example', now()
    FROM input
  )
  SELECT array_agg(id) AS ids, array_agg(workspace_id) AS workspaces
  FROM input`

/** Their results: a tenth is deferred, a fiftieth bounces, a fifth opens, and a thirtieth clicks. */
export const DELIVER = sql`
  WITH input AS MATERIALIZED (
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS t (id, workspace_id, i)
  ),
  tried AS (
    INSERT INTO attempts (message_id, n, attempt, at, outcome, host, source, duration_ms, conversation)
    SELECT id, 0, 1, now() - interval '1 second', 'delivered', 'mx' || i % 3 || '.receiver' || i % 60 || '.example',
      '192.0.2.' || i % 8, 100, repeat('S: 250 ok', 40)
    FROM input
  )
  INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
  SELECT (substr(i.id::text, 1, 24) || substr(md5(random()::text), 1, 12))::uuid, workspace_id, e.type, i.id, 0,
    e.n + 1,
    'r@d' || i % 500 || '.example', e.data::jsonb, now()
  FROM input i
  CROSS JOIN (
    VALUES (1, 1, 0, 'email.sent', '{"code": 250, "reply": "2.0.0 Ok: queued", "tls": "TLSv1.3"}'),
      (2, 1, 0, 'email.delivered', '{"code": 250, "reply": "2.0.0 Ok: queued", "tls": "TLSv1.3"}'),
      (3, 10, 1, 'email.deferred', '{"reason": "mailbox-busy", "code": "4.2.1", "tries": 1}'),
      (4, 50, 2, 'email.bounced', '{"bounce_type": "hard", "bounce_class": "no-such-user"}'),
      (5, 5, 3, 'email.opened', '{"first": true, "machine": false, "ip": "192.0.2.0"}'),
      (6, 30, 4, 'email.clicked', '{"first": true, "machine": false, "url": "https://shop.example/offer"}')
  ) e (n, every, at, type, data)
  WHERE i % e.every = e.at % e.every`
