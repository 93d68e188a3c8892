/**
 * Where a person must act for DKIM keys: records of the operator's zone that are not published, a next key that DNS
 * does not show, CNAMEs that an owner has not published, and old keys that owners publish by hand. Conditions with
 * their start, for operator notices; only reads.
 */
import type { Context } from '#src/context.ts'
import type { NewNotice } from '#src/operator/notices.ts'
import { sql } from '#src/stores/sql.ts'
import { missingAliases } from '#src/domains/rotation-schedule.ts'
import { findDomain, type Domain } from '#src/domains/domains.ts'
import { countText } from '#src/platform/plural.ts'

type NoticeContext = Pick<Context, 'db' | 'config' | 'clock'>

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The command had several attempts by then. */
const UNPUBLISHED_MS = 10 * MINUTE_MS
/** The schedule considers a domain once a day; a domain that is due for longer waits for a person. */
const OVERDUE_DAYS = 2
const MAX_DOMAINS = 100
const NAMED = 5

export async function findKeyNotices(ctx: NoticeContext): Promise<NewNotice[]> {
  return [...(await unpublished(ctx)), ...(await unseen(ctx)), ...(await undelegated(ctx)), ...(await byHand(ctx))]
}

async function unpublished({ db, config, clock }: NoticeContext): Promise<NewNotice[]> {
  const {
    rows: [row],
  } = await db.query<{ count: number; at: Date | null; problem: string | null }>(
    sql`
      SELECT count(*)::int AS count, min(changed_at) AS at,
        (array_agg(problem ORDER BY changed_at) FILTER (WHERE problem IS NOT NULL))[1] AS problem
      FROM dkim_zone_records
      WHERE due_at IS NOT NULL AND changed_at < $1
    `,
    [new Date(clock.now() - UNPUBLISHED_MS)],
  )
  if (row === undefined || row.at === null) return []
  const text =
    `${countText(row.count, 'change')} of the zone with DKIM keys not published ` +
    `(${row.problem ?? 'no attempt yet'}); new keys do not sign and new domains are not verified until then; ` +
    'mailstead domain zone --pending lists them'
  return [{ kind: 'dkim-zone', subject: config.dkimZone ?? 'DKIM_ZONE', text, count: row.count, at: row.at }]
}

const UNSEEN = sql`
  SELECT d.domain, d.id, k.state_since AS at
  FROM dkim_keys k
  JOIN domains d ON d.id = k.domain_id
  WHERE k.state = 'waiting' AND k.algorithm = 'rsa-sha256' AND k.state_since < $1 AND k.target IS NOT NULL
    AND NOT EXISTS (SELECT FROM dkim_zone_records r WHERE r.name = k.target AND r.due_at IS NOT NULL)
  ORDER BY k.state_since
  LIMIT ${MAX_DOMAINS}
`

/** The records are published, but the domain does not point to them. */
async function unseen({ db, clock }: NoticeContext): Promise<NewNotice[]> {
  const { rows } = await db.query<{ domain: string; at: Date }>(UNSEEN, [new Date(clock.now() - DAY_MS)])
  return rows.map(({ domain, at }) => ({
    kind: 'dkim-key',
    subject: domain,
    text:
      'the next DKIM key has not been found in DNS for a day, so the present one signs on: ' +
      `the owner of ${domain} must publish the CNAME records that "mailstead domain verify ${domain}" lists`,
    count: 1,
    at,
  }))
}

const OVERDUE = sql`
  SELECT d.id, d.workspace_id AS "workspaceId", k.state_since AS since
  FROM dkim_keys k
  JOIN domains d ON d.id = k.domain_id
  WHERE k.state = 'active' AND k.algorithm = 'rsa-sha256' AND k.state_since < $1
    AND d.dkim_zone IS NOT NULL AND d.verification_status = 'verified'
    AND NOT EXISTS (SELECT FROM dkim_keys w WHERE w.domain_id = d.id AND w.state = 'waiting')
  ORDER BY k.state_since
  LIMIT ${MAX_DOMAINS}
`

/** Delegated domains that the schedule cannot rotate. */
async function undelegated({ db, config, clock }: NoticeContext): Promise<NewNotice[]> {
  const { dkimRotationDays: days } = config
  if (days === 0) return []
  const before = new Date(clock.now() - (days + OVERDUE_DAYS) * DAY_MS)
  const { rows } = await db.query<{ id: string; workspaceId: string; since: Date }>(OVERDUE, [before])
  const notices: NewNotice[] = []
  for (const { id, workspaceId, since } of rows) {
    const domain: Domain | null = await findDomain(db, workspaceId, id)
    const [name] = domain === null ? [] : missingAliases(domain)
    if (domain === null || name === undefined) continue
    const text =
      `its DKIM key is older than ${countText(days, 'day')} and cannot be replaced: the owner must publish ` +
      `the CNAME record ${name} ("mailstead domain verify ${domain.domain}" prints all)`
    notices.push({ kind: 'dkim-key', subject: domain.domain, text, count: 1, at: dueAt(since, days) })
  }
  return notices
}

const BY_HAND = sql`
  SELECT count(*)::int AS count, min(k.state_since) AS since,
    (array_agg(d.domain ORDER BY k.state_since))[1:${NAMED}] AS names
  FROM dkim_keys k
  JOIN domains d ON d.id = k.domain_id
  WHERE k.state = 'active' AND k.algorithm = 'rsa-sha256' AND k.state_since < $1
    AND d.dkim_zone IS NULL AND d.verification_status = 'verified' AND NOT d.is_trusted
    AND NOT EXISTS (
      SELECT
      FROM dkim_keys w
      WHERE w.domain_id = d.id AND w.state = 'waiting' AND w.algorithm = 'rsa-sha256'
    )
`

/** One notice for all domains, because there may be thousands. */
async function byHand({ db, config, clock }: NoticeContext): Promise<NewNotice[]> {
  const { dkimRotationDays: days } = config
  if (days === 0) return []
  const before = new Date(clock.now() - days * DAY_MS)
  const {
    rows: [row],
  } = await db.query<{ count: number; since: Date | null; names: readonly string[] | null }>(BY_HAND, [before])
  if (row === undefined || row.since === null) return []
  const names = [...(row.names ?? []), ...(row.count > NAMED ? ['…'] : [])].join(', ')
  const text =
    `${countText(row.count, 'domain signs', 'domains sign')} with a DKIM key that is older than ` +
    `${countText(days, 'day')} and that the owner publishes by hand: ${names}. ` +
    'Run "mailstead domain rotate DOMAIN" and let the owner publish the records of the next key'
  return [{ kind: 'dkim-key', subject: 'keys published by hand', text, count: row.count, at: dueAt(row.since, days) }]
}

function dueAt(since: Date, days: number): Date {
  return new Date(since.getTime() + days * DAY_MS)
}
