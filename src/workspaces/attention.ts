/**
 * What of a workspace needs attention: read with one statement when a page asks. Nothing is stored, so nothing can be
 * outdated. Each row of ISSUES is one kind of problem with the way to solve it.
 */
import type { Queryable } from '#src/stores/db.ts'
import { countText } from '#src/platform/plural.ts'
import { sql } from '#src/stores/sql.ts'

/** How many objects of one kind are listed. */
const MAX_OBJECTS = 50

export interface AttentionObject {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly detail: string
}

export interface AttentionFacts {
  readonly objects: readonly {
    readonly kind: string
    readonly id: string
    readonly name: string
    readonly detail: string
  }[]
  /** Of the workspace itself; null: none. */
  readonly suspension: string | null
  readonly delivered: number
  readonly hard: number
  readonly complaints: number
  readonly used: number
}

type FactsRow = Omit<AttentionFacts, 'objects'> & {
  readonly objects: readonly (readonly [kind: string, id: string, name: string, detail: string])[]
}

const FACTS = sql`
  WITH found AS (
    SELECT 'domain-' || verification_status AS kind, id::text, domain AS name, '' AS detail, created_at AS at
    FROM domains
    WHERE workspace_id = $1 AND verification_status <> 'verified'
    UNION ALL
    SELECT 'account-paused', id::text, name, coalesce(paused_reason, ''), created_at
    FROM connected_accounts
    WHERE workspace_id = $1 AND state = 'paused'
    UNION ALL
    SELECT 'webhook-disabled', id::text, url, disabled_reason, created_at
    FROM webhook_endpoints
    WHERE workspace_id = $1 AND NOT is_active AND disabled_reason IS NOT NULL AND disabled_reason <> 'deleted'
    UNION ALL
    SELECT 'campaign-' || lower(status), id::text, name, reason, created_at
    FROM campaigns
    WHERE workspace_id = $1
      AND reason IS NOT NULL
      AND (is_open OR (status = 'FAILED' AND ended_at > now() - interval '7 days'))
    UNION ALL
    SELECT 'key-expires', id::text, name, to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), created_at
    FROM api_keys
    WHERE workspace_id = $1 AND is_active AND expires_at BETWEEN now() AND now() + interval '14 days'
  ),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY kind ORDER BY at DESC) AS place
    FROM found
  )
  SELECT
    (
      SELECT coalesce(json_agg(json_build_array(kind, id, name, detail) ORDER BY kind, at DESC), '[]')
      FROM ranked
      WHERE place <= ${MAX_OBJECTS}
    ) AS objects,
    (
      SELECT reason
      FROM suspensions
      WHERE kind = 'workspace' AND subject = $1::text AND (until IS NULL OR until > now())
    ) AS suspension,
    coalesce(h.delivered, 0) AS delivered, coalesce(h.hard, 0) AS hard, coalesce(h.complaints, 0) AS complaints,
    coalesce(
      (
        SELECT used
        FROM usage
        WHERE workspace_id = $1 AND period = date_trunc('month', $3::timestamptz AT TIME ZONE 'UTC')
      ),
      0
    ) AS used
  FROM (
    SELECT sum(delivered)::int AS delivered, sum(hard)::int AS hard, sum(complaints)::int AS complaints
    FROM workspace_hours
    WHERE workspace_id = $1 AND hour >= $2
  ) h
`

export async function readAttentionFacts(
  db: Queryable,
  workspaceId: string,
  { now, ratesSince }: { readonly now: Date; readonly ratesSince: Date },
): Promise<AttentionFacts> {
  const {
    rows: [row],
  } = await db.query<FactsRow>(FACTS, [workspaceId, ratesSince, now])
  if (row === undefined) throw new Error('the statement that reads what needs attention returned no row')
  return { ...row, objects: row.objects.map(([kind, id, name, detail]) => ({ kind, id, name, detail })) }
}

export interface AttentionLimits {
  /** Shares from 0 to 1 at which the mail of the workspace is suspended. */
  readonly bounceShare: number
  readonly complaintShare: number
  /** Results below which rates say nothing. */
  readonly minimum: number
  /** Recipients in a month; null: no limit. */
  readonly quota: number | null
}

export type Severity = 'error' | 'warning'

export interface Issue {
  readonly kind: string
  readonly severity: Severity
  readonly title: string
  readonly todo: string
}

export interface AttentionItem extends Issue {
  /** Null: the workspace itself. */
  readonly object: { readonly type: string; readonly id: string; readonly name: string } | null
  readonly detail: string
}

/** `kind: severity; title; todo`. */
const ISSUES: Readonly<Record<string, Omit<Issue, 'kind'>>> = {
  'domain-pending': {
    severity: 'warning',
    title: 'The domain is not verified yet',
    todo: 'Publish its DNS records, then check it with verify-domain.',
  },
  'domain-degraded': {
    severity: 'error',
    title: 'The DKIM record of the domain is gone: it may send for 24 hours at most',
    todo: 'Publish the records that domain-status shows, then check it with verify-domain.',
  },
  'domain-failed': {
    severity: 'error',
    title: 'The domain may not send: its DKIM record was not found',
    todo: 'Publish the records that domain-status shows, then check it with verify-domain; or delete the domain.',
  },
  'account-paused': {
    severity: 'error',
    title: 'The connected account is paused, and its mail waits',
    todo: 'Correct the credentials with update-account or connect it again, then call resume-account.',
  },
  'webhook-disabled': {
    severity: 'error',
    title: 'The webhook endpoint is switched off, and gets no events',
    todo: 'Repair the endpoint, switch it on with update-webhook, and replay what it missed.',
  },
  'campaign-paused': {
    severity: 'warning',
    title: 'The campaign is paused',
    todo: 'Solve what the reason says, then call resume-campaign.',
  },
  'campaign-failed': {
    severity: 'error',
    title: 'The campaign failed',
    todo: 'Solve what the reason says, then create it again.',
  },
  'campaign-sending': {
    severity: 'warning',
    title: 'The campaign is held back',
    todo: 'It continues by itself when the operator has solved what the reason says.',
  },
  'campaign-sent': {
    severity: 'warning',
    title: 'The rest of the campaign is held back',
    todo: 'It continues by itself when the operator has solved what the reason says.',
  },
  'campaign-scheduled': {
    severity: 'warning',
    title: 'The campaign cannot start',
    todo: 'Solve what the reason says before its time.',
  },
  'key-expires': {
    severity: 'warning',
    title: 'The API key expires within two weeks',
    todo: 'Create another key, and use it before this one expires.',
  },
}

/** The share of a limit from which it is near. */
const NEAR = 0.8

/** The worst first. */
export function findAttention(facts: AttentionFacts, limits: AttentionLimits): AttentionItem[] {
  const found = [...workspaceItems(facts, limits), ...facts.objects.flatMap(objectItem)]
  return found.toSorted((a, b) => Number(a.severity !== 'error') - Number(b.severity !== 'error'))
}

function objectItem({ kind, id, name, detail }: AttentionObject): AttentionItem[] {
  const issue = ISSUES[kind]
  const [type = ''] = kind.split('-')
  return issue === undefined ? [] : [{ kind, ...issue, object: { type, id, name }, detail }]
}

function workspaceItems(facts: AttentionFacts, limits: AttentionLimits): AttentionItem[] {
  const { suspension, delivered, hard, complaints, used } = facts
  const results = delivered + hard
  const mayJudge = results >= limits.minimum
  const item = (issue: Issue, detail: string): AttentionItem => ({ ...issue, object: null, detail })
  const items: AttentionItem[] = []
  if (suspension !== null) items.push(item(SUSPENDED, suspension))
  if (mayJudge && hard / results >= NEAR * limits.bounceShare)
    items.push(item(BOUNCES, `${percent(hard / results)} hard bounced; the limit is ${percent(limits.bounceShare)}`))
  if (mayJudge && delivered > 0 && complaints / delivered >= NEAR * limits.complaintShare)
    items.push(
      item(COMPLAINTS, `${percent(complaints / delivered)} complained; the limit is ${percent(limits.complaintShare)}`),
    )
  if (limits.quota !== null && used >= NEAR * limits.quota)
    items.push(
      item(
        used >= limits.quota ? QUOTA_USED : QUOTA_NEAR,
        `${used} of ${countText(limits.quota, 'recipient')} this month`,
      ),
    )
  return items
}

const SUSPENDED: Issue = {
  kind: 'workspace-suspended',
  severity: 'error',
  title: 'The mail of the workspace is suspended, and waits',
  todo: 'Solve what the reason says, then ask the operator of this service to resume it.',
}
const BOUNCES: Issue = {
  kind: 'bounce-rate',
  severity: 'warning',
  title: 'Many addresses do not exist: at the limit, all mail of the workspace is suspended',
  todo: 'Send only to addresses that were confirmed, and remove those that bounced.',
}
const COMPLAINTS: Issue = {
  kind: 'complaint-rate',
  severity: 'warning',
  title: 'Many recipients report the mail as spam: at the limit, all mail of the workspace is suspended',
  todo: 'Send only to people who asked for it, and make it easy to unsubscribe.',
}
const QUOTA_NEAR: Issue = {
  kind: 'quota-near',
  severity: 'warning',
  title: 'The monthly quota is nearly used',
  todo: 'Ask the operator of this service for another plan, or wait until the next month.',
}
const QUOTA_USED: Issue = {
  ...QUOTA_NEAR,
  kind: 'quota-used',
  severity: 'error',
  title: 'The monthly quota is used up',
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`
}
