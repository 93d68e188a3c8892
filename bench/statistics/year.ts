/**
 * SQL that fills `statistics` as a year of mail leaves it: ten million recipients in workspaces of very different
 * sizes. Values of each dimension have a long tail, campaigns last some days, and most mail is sent by day and on
 * workdays. A period has a row for each value that was used in it, and the values beyond the limit are one.
 */
import { COUNTER_NAMES, type CounterName, INSTALLATION } from '#src/statistics/dimensions.ts'
import { sql } from '#src/stores/sql.ts'

/**
 * Of a workspace: values of each dimension, and how many of them a mail has. The share of a value is that of its rank
 * to the power of `tail`.
 */
interface ValuesRow {
  readonly values: number
  readonly perMail: number
  readonly tail: number
}

const OF_WORKSPACE: Readonly<Record<string, ValuesRow>> = {
  all: { values: 1, perMail: 1, tail: 0 },
  tier: { values: 4, perMail: 1, tail: 1 },
  receiver: { values: 300, perMail: 1, tail: 1.1 },
  domain: { values: 4, perMail: 1, tail: 1 },
  source: { values: 8, perMail: 1, tail: 0 },
  class: { values: 30, perMail: 0.1, tail: 1 },
  tag: { values: 150, perMail: 2.5, tail: 0.8 },
  campaign: { values: 150, perMail: 0.6, tail: 0 },
  template: { values: 60, perMail: 0.9, tail: 0.8 },
}
const OF_INSTALLATION: Readonly<Record<string, ValuesRow>> = {
  all: { values: 1, perMail: 1, tail: 0 },
  tier: { values: 4, perMail: 1, tail: 1 },
  receiver: { values: 1000, perMail: 1, tail: 1.1 },
  domain: { values: 40, perMail: 1, tail: 0.8 },
  source: { values: 16, perMail: 1, tail: 0 },
  class: { values: 40, perMail: 0.1, tail: 1 },
}

/** Days that mail of a campaign is sent. */
const CAMPAIGN_DAYS = 4

/** Of a recipient; `sent` and `delivered` in almost all. */
const PER_MAIL: Readonly<Partial<Record<CounterName, number>>> = {
  accepted: 1,
  sent: 0.99,
  delivered: 0.97,
  deferred: 0.08,
  bounced_hard: 0.012,
  bounced_soft: 0.008,
  suppressed: 0.005,
  complained: 0.0005,
  unsubscribed: 0.003,
  opened: 0.35,
  opened_unique: 0.2,
  opened_machine: 0.25,
  clicked: 0.04,
  clicked_unique: 0.03,
  clicked_machine: 0.01,
}

/** The mail of workspaces $1 has the shares 1, 1/2, 1/3 … of all. */
export const CREATE_SHAPES = sql`
  CREATE TEMPORARY TABLE shapes AS
  WITH workspaces AS (
    SELECT id, (1 / n::float8) / sum(1 / n::float8) OVER () AS share
    FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, n)
  ),
  owners AS (
    SELECT 'workspace' AS kind, id, share
    FROM workspaces
    UNION ALL
    SELECT 'installation', '${INSTALLATION}', 1
  ),
  kinds AS (
    SELECT *
    FROM (VALUES ${kindsOf('workspace', OF_WORKSPACE)}, ${kindsOf('installation', OF_INSTALLATION)})
      AS k (kind, dimension, count, per_mail, tail)
  ),
  ranked AS (
    SELECT o.id AS workspace_id, k.dimension, n, CASE WHEN k.dimension = 'all' THEN '' ELSE k.dimension || '-' || n END
        AS value, o.share * k.per_mail AS share, n ^ -k.tail AS size
    FROM owners o
    JOIN kinds k ON k.kind = o.kind
    CROSS JOIN LATERAL generate_series(1, k.count) n
  )
  SELECT workspace_id, dimension, value,
    share
      * CASE
          WHEN dimension = 'campaign' THEN 1
          ELSE size / sum(size) OVER (PARTITION BY workspace_id, dimension)
        END AS share,
    CASE WHEN dimension = 'campaign' THEN 364.0 * n / 150 - ${CAMPAIGN_DAYS} ELSE 0 END AS first_day,
    CASE WHEN dimension = 'campaign' THEN 364.0 * n / 150 ELSE 366 END AS last_day,
    CASE WHEN dimension = 'campaign' THEN 0 ELSE n END AS rank
  FROM ranked
  UNION ALL
  SELECT '${INSTALLATION}', 'workspace', id::text, share, 0, 366, 0
  FROM workspaces`

function kindsOf(kind: string, dimensions: Readonly<Record<string, ValuesRow>>): string {
  return Object.entries(dimensions)
    .map(([name, { values, perMail, tail }]) => `('${kind}', '${name}', ${values}, ${perMail}, ${tail}::float8)`)
    .join(', ')
}

/**
 * Rows of resolution $1 from $2 to before $3 with a step of $4, for $5 recipients a year; $6: the values of a period.
 * Of a fraction of a recipient there is a row now and then. From hours on, there are sums of all values.
 */
export const FILL_YEAR = sql`
  INSERT INTO statistics (workspace_id, dimension, at, resolution, value, ${COUNTER_NAMES.join(', ')})
  WITH periods AS (
    SELECT at, extract(epoch FROM at - ($3::timestamptz - interval '365 days')) / 86400 AS day,
      greatest(0, extract(epoch FROM $4::interval) / 86400 - 1) AS more_days,
      $5 * extract(epoch FROM $4::interval) / (365 * 86400)
        * CASE WHEN extract(isodow FROM at) > 5 THEN 0.5 ELSE 1.2 END
        * CASE
            WHEN $4::interval >= interval '1 day' THEN 1
            WHEN extract(hour FROM at) BETWEEN 7 AND 18 THEN 1.6
            ELSE 0.4
          END AS mails
    FROM generate_series($2::timestamptz, $3::timestamptz - interval '1 second', $4::interval) at
  ),
  counted AS (
    SELECT s.workspace_id, s.dimension, p.at, CASE WHEN s.rank <= $6 THEN s.value ELSE '' END AS value,
      floor(sum(p.mails * s.share) + random())::int AS mails
    FROM periods p
    JOIN shapes s ON p.day BETWEEN s.first_day - p.more_days AND s.last_day
    GROUP BY 1, 2, 3, 4
  ),
  stored AS (
    SELECT *
    FROM counted
    UNION ALL
    SELECT workspace_id, dimension || '/total', at, '', sum(mails)
    FROM counted
    WHERE $1 > 0 AND dimension <> 'all'
    GROUP BY 1, 2, 3
  )
  SELECT workspace_id, dimension, at, $1::smallint, value,
    ${COUNTER_NAMES.map((name) => `nullif(floor(mails * ${PER_MAIL[name] ?? 0.001} + random()), 0)`).join(', ')}
  FROM stored
  WHERE mails > 0
  ORDER BY at, workspace_id, dimension, value`

/** The id of the object `n`, as the API accepts it. */
const ID = `'00000000-0000-7000-8000-' || lpad(n::text, 12, '0')`

/**
 * A year of clicks, 4 % of the mail of workspaces $1 with the shares of CREATE_SHAPES: campaigns with 12 links that are
 * clicked for five days, and 60 templates with four links each. Later links are clicked less.
 */
export const FILL_LINKS = sql`
  INSERT INTO link_clicks (workspace_id, content, day, url, clicked, clicked_unique, clicked_machine)
  SELECT w.id, c.content, current_date - c.day, 'https://shop.example/' || c.content || '/products/item-' || c.link
      || '?utm_campaign=spring', clicks, clicks, 1
  FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, n)
  CROSS JOIN LATERAL (
    SELECT 'campaign:' || ${ID} AS content, n * 365 / 150 - d AS day, link, 150.0 / (link * d * d) AS size
    FROM generate_series(1, 150) n, generate_series(1, 5) d, generate_series(1, 12) link
    UNION ALL
    SELECT 'template:' || ${ID}, day, link, 20.0 / (n * link)
    FROM generate_series(1, 60) n, generate_series(0, 365) day, generate_series(1, 4) link
  ) c
  CROSS JOIN LATERAL (SELECT floor(c.size / w.n + random())::int AS clicks) k
  WHERE clicks > 0`
