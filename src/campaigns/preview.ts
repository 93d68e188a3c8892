/**
 * Previews a campaign before it is sent: recipients by receiver, remaining quota and warm-up capacity, expected finish,
 * and findings. Findings are green, yellow or red. A red finding blocks the start unless it is forced, and some cannot
 * be forced. Nothing is changed.
 */
import type { Config } from '#config/load.ts'
import { REGIONS, type Region } from '#config/regions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { allowanceOf, dayOf, stepOf, type WarmUpDay } from '#src/egress/warm-up.ts'
import { readRemainingQuota } from '#src/messages/quota.ts'
import { sql } from '#src/stores/sql.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { countRecipients, sampleNeverMailed, type RecipientCounts } from './recipient-counts.ts'
import { validateCampaign, type StartBlocker, type StartDeps } from './start.ts'
import type { Campaign } from './store.ts'
import { translationOf, type CodedText, type Translation } from '#src/platform/coded-text.ts'
import { countText } from '#src/platform/plural.ts'
import { findingText } from './finding-texts.ts'
import { findCampaignTranslation } from './reason-texts.ts'

export interface PreviewFinding {
  readonly code: string
  readonly level: 'green' | 'yellow' | 'red'
  readonly message: string
  /** Of the message; null: it has no code, such as an error of a template. */
  readonly translation: Translation | null
  /** Whether the campaign can be sent despite the finding: red ones only with force, all others always. */
  readonly mayForce: boolean
}

export interface ReceiverPreview {
  readonly receiver: string
  readonly recipients: number
  /** How many messages warming addresses may still send there today; null: unlimited. */
  readonly warmUpRemaining: number | null
  /** Deliveries in the best hour of the last week; null if unknown. */
  readonly bestHour: number | null
}

export interface CampaignPreview {
  readonly recipientCounts: RecipientCounts
  readonly receivers: readonly ReceiverPreview[]
  /** Null: unlimited. */
  readonly quotaRemaining: number | null
  /** Null if no receiver's rate is known, or if a warm-up spreads the campaign over several days. */
  readonly expectedFinish: Date | null
  /** Estimated from a sample; null without recipients. */
  readonly neverMailedShare: number | null
  readonly findings: readonly PreviewFinding[]
}

export type PreviewContext = StartDeps & { readonly config: Pick<Config, 'warmUp' | 'trackingUrl'> }

/** Gmail and Yahoo apply their bulk sender requirements (2024) from this volume. */
const BULK_SENDER_RECIPIENTS = 5000
const HIGH_NEVER_MAILED_SHARE = 0.5
const REPLY_PREFIX = /^\s*(?:re|fwd?|aw|wg)\s*(?:\[\d+\])?:/i
/** An hour with fewer deliveries shows how much there was to send, not how much the receiver accepts. */
const MIN_HOURLY_DELIVERIES = 1000
const HOUR_MS = 3600 * 1000

interface PreviewRequest {
  readonly workspaceId: string
  /** Recipients per month; null if unlimited. */
  readonly quota: number | null
}

export async function previewCampaign(
  ctx: PreviewContext,
  { workspaceId, quota }: PreviewRequest,
  campaign: Campaign,
): Promise<CampaignPreview> {
  const nowMs = ctx.clock.now()
  const [{ blockers, sendable }, recipientCounts, quotaRemaining, sender] = await Promise.all([
    validateCampaign(ctx, workspaceId, campaign),
    countRecipients(ctx.db, workspaceId, campaign, nowMs),
    readRemainingQuota(ctx.db, workspaceId, quota, new Date(nowMs)),
    findSenderFacts(ctx.db, workspaceId, campaign.fromEmail),
  ])
  const receivers = await describeReceivers(ctx, recipientCounts, { pool: sender?.pool ?? null, nowMs })
  const { sampled, neverMailed } = await sampleNeverMailed(ctx.db, { workspaceId, recipientCounts, nowMs }, campaign)
  const neverMailedShare = sampled === 0 ? null : neverMailed / sampled
  const subjects = [sendable?.content.subject ?? campaign.subject, campaign.subjectB].filter(
    (subject) => subject !== null,
  )
  const facts: PreviewFacts = {
    total: recipientCounts.total,
    quotaRemaining,
    neverMailedShare,
    receivers,
    sender,
    trackingUrl: ctx.config.trackingUrl,
    subjects,
    testPercent: campaign.testPercent,
  }
  return {
    recipientCounts,
    receivers,
    quotaRemaining,
    neverMailedShare,
    expectedFinish: expectedFinish(receivers, (campaign.testMinutes ?? 0) + (campaign.spreadMinutes ?? 0), nowMs),
    findings: [...blockers.map(toFinding), ...PREVIEW_RULES.flatMap((rule) => rule(facts) ?? [])],
  }
}

function toFinding({ code, message, translation, mayForce }: StartBlocker): PreviewFinding {
  return { code, level: 'red', message, translation: translation ?? findCampaignTranslation(message), mayForce }
}

interface PreviewFacts {
  readonly total: number
  readonly quotaRemaining: number | null
  readonly neverMailedShare: number | null
  readonly receivers: readonly ReceiverPreview[]
  readonly sender: SenderFacts | null
  readonly trackingUrl: string
  /** Both subjects of an A/B test. */
  readonly subjects: readonly string[]
  readonly testPercent: number | null
}

type PreviewRule = (facts: PreviewFacts) => PreviewFinding | null
type FindingWriter = (code: string, text: CodedText) => PreviewFinding
const ofLevel =
  (level: PreviewFinding['level']): FindingWriter =>
  (code, text) => ({ code, level, message: text.text, translation: translationOf(text), mayForce: true })
const [red, yellow, green] = [ofLevel('red'), ofLevel('yellow'), ofLevel('green')]

const PREVIEW_RULES: readonly PreviewRule[] = [
  ({ total }) => (total === 0 ? red('nobody', findingText('nobody')) : null),
  ({ total, quotaRemaining }) =>
    quotaRemaining !== null && total > quotaRemaining
      ? red('quota', findingText('quota', { remaining: quotaRemaining, recipients: countText(total, 'recipient') }))
      : null,
  ({ receivers }) => {
    const full = receivers
      .filter(({ recipients, warmUpRemaining }) => warmUpRemaining !== null && recipients > warmUpRemaining)
      .map(({ receiver }) => receiver)
    return full.length > 0 ? yellow('warm-up', findingText('warm_up', { receivers: full.join(', ') })) : null
  },
  ({ neverMailedShare: share }) =>
    share !== null && share > HIGH_NEVER_MAILED_SHARE
      ? yellow('never-mailed', findingText('never_mailed', { percent: Math.round(share * 100) }))
      : null,
  ({ sender }) =>
    sender === null
      ? null
      : sender.status === 'degraded'
        ? red('dkim', findingText('dkim_missing'))
        : green('dkim', findingText('dkim_aligned')),
  ({ sender }) =>
    sender === null
      ? null
      : sender.hasMailFrom
        ? green('spf', findingText('spf_aligned'))
        : yellow('spf', findingText('spf_not_aligned')),
  ({ sender, total }) => {
    if (sender === null || sender.dmarc === 'ok')
      return sender === null ? null : green('dmarc', findingText('dmarc_published'))
    return total > BULK_SENDER_RECIPIENTS
      ? red('dmarc', findingText('dmarc_required'))
      : yellow('dmarc', findingText('dmarc_missing'))
  },
  ({ subjects }) =>
    subjects.some((subject) => subject.trim() === '') ? red('subject', findingText('subject_empty')) : null,
  ({ subjects }) =>
    subjects.some((subject) => REPLY_PREFIX.test(subject)) ? yellow('subject', findingText('subject_of_reply')) : null,
  ({ testPercent, total }) =>
    testPercent !== null && total > 0 && Math.floor((total * testPercent) / 100) < 2
      ? yellow('test', findingText('test_too_small'))
      : null,
  ({ trackingUrl }) =>
    trackingUrl.startsWith('https:')
      ? green('list-unsubscribe', findingText('unsubscribe_https'))
      : yellow('list-unsubscribe', findingText('unsubscribe_http')),
]

interface SenderFacts {
  readonly status: 'verified' | 'degraded'
  readonly hasMailFrom: boolean
  /** Status of the last DNS check; null if not checked yet. */
  readonly dmarc: string | null
  readonly pool: string
}

async function findSenderFacts(db: Queryable, workspaceId: string, from: string | null): Promise<SenderFacts | null> {
  if (from === null) return null
  const {
    rows: [row],
  } = await db.query<Omit<SenderFacts, 'pool'> & { region: Region; pool: string | null }>(
    sql`
      SELECT d.verification_status AS status, d.mail_from_status = 'verified' AS "hasMailFrom", d.region,
        coalesce(d.egress_pool, w.egress_pool) AS pool,
        jsonb_path_query_first(d.checks, '$[*] ? (@.purpose == "dmarc")') ->> 'status' AS dmarc
      FROM domains d
      JOIN workspaces w ON w.id = d.workspace_id
      WHERE d.workspace_id = $1 AND d.domain = $2 AND d.verification_status IN ('verified', 'degraded')
    `,
    [workspaceId, from.slice(from.lastIndexOf('@') + 1)],
  )
  return row === undefined ? null : { ...row, pool: row.pool ?? REGIONS[row.region].pool }
}

interface SourceDay extends WarmUpDay {
  readonly receiver: string
  readonly sourceId: string
  readonly taken: number
}

async function describeReceivers(
  { db, config }: Pick<PreviewContext, 'db' | 'config'>,
  { largest }: RecipientCounts,
  { pool, nowMs }: { readonly pool: string | null; readonly nowMs: number },
): Promise<ReceiverPreview[]> {
  const names = largest.map(({ receiver }) => receiverOf(receiver, receiver))
  const [{ rows: hours }, { rows: sources }, { rows: days }] = await Promise.all([
    db.query<{ receiver: string; best: number }>(
      sql`
        SELECT receiver, max(delivered) AS best
        FROM receiver_hours
        WHERE receiver = ANY ($1::text[]) AND hour > $2
        GROUP BY receiver
      `,
      [names, new Date(nowMs - 7 * 24 * HOUR_MS)],
    ),
    db.query<{ id: string; isWarming: boolean }>(
      sql`
        SELECT s.id, s.warming_since IS NOT NULL AS "isWarming"
        FROM egress_members m
        JOIN egress_sources s ON s.id = m.source_id
        WHERE m.pool = $1 AND s.paused_at IS NULL AND s.gone_since IS NULL
      `,
      [pool],
    ),
    db.query<SourceDay>(
      sql`
        SELECT DISTINCT ON (source_id, receiver) source_id AS "sourceId", receiver, day::text AS day, step, sent,
          throttled, complaints, taken
        FROM egress_days
        WHERE receiver = ANY ($1::text[]) AND day <= $2::date
        ORDER BY source_id, receiver, day DESC
      `,
      [names, dayOf(nowMs)],
    ),
  ])
  const isFree = sources.length === 0 || sources.some(({ isWarming }) => !isWarming)
  const remainingAt = (receiver: string): number =>
    sources.reduce(
      (sum, { id }) =>
        sum +
        remainingToday(
          days.find((day) => day.sourceId === id && day.receiver === receiver) ?? null,
          config.warmUp,
          dayOf(nowMs),
        ),
      0,
    )
  return largest.map(({ receiver, recipients }, i) => {
    const remaining = isFree ? Infinity : remainingAt(names[i] ?? receiver)
    const best = hours.find((hour) => hour.receiver === names[i])?.best ?? 0
    return {
      receiver,
      recipients,
      warmUpRemaining: remaining === Infinity ? null : remaining,
      bestHour: best > 0 ? best : null,
    }
  })
}

/** How many messages one warming source may still send to a receiver today. */
function remainingToday(last: SourceDay | null, schedule: readonly number[], today: string): number {
  const isToday = last !== null && last.day === today
  const amount = allowanceOf(isToday ? last.step : stepOf(today, last, schedule), schedule)
  return amount === null ? Infinity : Math.max(0, amount - (isToday ? last.taken : 0))
}

/**
 * When the slowest receiver with a known rate would have everything, but not before the test and the spread are over.
 */
function expectedFinish(receivers: readonly ReceiverPreview[], leastMinutes: number, nowMs: number): Date | null {
  if (receivers.some(({ recipients, warmUpRemaining }) => warmUpRemaining !== null && recipients > warmUpRemaining))
    return null
  const hours = receivers.flatMap(({ recipients, bestHour }) =>
    bestHour === null || bestHour < MIN_HOURLY_DELIVERIES ? [] : [recipients / bestHour],
  )
  return hours.length === 0 ? null : new Date(nowMs + Math.max(...hours, leastMinutes / 60) * HOUR_MS)
}
