/**
 * Reads the click map: the links of a campaign, a template or all mail of a workspace, the most clicked first. The
 * position of a link is read from the content that is stored now: the place of the first link with that name, from 1.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { resolveHref } from '#src/tracking/href.ts'
import { scanHtml } from '#src/tracking/html-scan.ts'
import { linkName } from './link-name.ts'

export interface LinkQuery {
  readonly workspaceId: string
  readonly from: Date
  /** Before this time; both count by days of UTC. */
  readonly to: Date
  /** Null for all mail. */
  readonly content: { readonly kind: 'campaign' | 'template'; readonly id: string } | null
  readonly limit: number
}

export interface LinkClicks {
  /** The name of the link (`link-name.ts`); null: links beyond the limit of a day, and URLs without a name. */
  readonly url: string | null
  /** From 1; null if the content has no such link, or is not one content. */
  readonly position: number | null
  readonly clicked: number
  readonly clickedUnique: number
  readonly clickedMachine: number
}

export async function readLinks(db: Queryable, query: LinkQuery): Promise<LinkClicks[]> {
  const { workspaceId, from, to, content, limit } = query
  const { rows } = await db.query<Omit<LinkClicks, 'position'>>(
    sql`
      SELECT nullif(url, '') AS url, sum(clicked)::bigint AS clicked, sum(clicked_unique)::bigint AS "clickedUnique",
        sum(clicked_machine)::bigint AS "clickedMachine"
      FROM link_clicks
      WHERE workspace_id = $1
        AND day >= ($2::timestamptz AT TIME ZONE 'UTC')::date
        AND day < ($3::timestamptz AT TIME ZONE 'UTC' + interval '1 day' - interval '1 microsecond')::date
        ${content === null ? '' : 'AND content = $5'}
      GROUP BY 1
      ORDER BY 2 DESC, 3 DESC, 1
      LIMIT $4
    `,
    [workspaceId, from, to, limit, ...(content === null ? [] : [`${content.kind}:${content.id}`])],
  )
  const positions = positionsOf(content === null ? null : await findHtml(db, workspaceId, content))
  return rows.map((row) => ({ ...row, position: (row.url === null ? null : positions.get(row.url)) ?? null }))
}

const HTML = {
  campaign: sql`
    SELECT k.html
    FROM campaigns c
    JOIN mail_contents k ON k.id = c.content_id
    WHERE c.workspace_id = $1 AND c.id = $2`,
  template: 'SELECT body AS html FROM templates WHERE workspace_id = $1 AND id = $2',
}

async function findHtml(
  db: Queryable,
  workspaceId: string,
  { kind, id }: NonNullable<LinkQuery['content']>,
): Promise<string | null> {
  const { rows } = await db.query<{ html: string | null }>(HTML[kind], [workspaceId, id])
  return rows[0]?.html ?? null
}

/** Positions by the names of links. */
export function positionsOf(html: string | null): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  if (html === null) return positions
  for (const [i, { from, to }] of scanHtml(html).links.entries()) {
    const url = resolveHref(html.slice(from, to))
    const name = url === null ? null : linkName(url)
    if (name !== null && !positions.has(name)) positions.set(name, i + 1)
  }
  return positions
}
