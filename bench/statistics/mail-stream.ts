/** SQL that stores a stream of messages and their results, as accepting and delivering mail do. */
import { sql } from '#src/stores/sql.ts'

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
    INSERT INTO attempts (message_id, n, attempt, at, outcome, host, source, tls, duration_ms, conversation)
    SELECT id, 0, 1, now() - interval '1 second', 'delivered', 'mx' || i % 3 || '.receiver' || i % 60 || '.example',
      '192.0.2.' || i % 8, 'TLSv1.3', 100, repeat('S: 250 ok', 40)
    FROM input
  )
  INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
  SELECT (substr(i.id::text, 1, 24) || e.n || substr(md5(random()::text), 1, 11))::uuid, workspace_id, e.type, i.id, 0,
    e.n + 1,
    'r' || i || '@d' || i % 500 || '.example', e.data::jsonb, now()
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
