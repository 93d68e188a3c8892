/** Campaigns as responses show them: the fields and the statistics; and what all campaign routes share. */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { findCampaignTranslation } from '#src/campaigns/reason-texts.ts'
import { CAMPAIGN_STATES, type CampaignState } from '#src/campaigns/state.ts'
import { CAMPAIGN_COUNTERS, readStatistics, readTotals, type CampaignCounts } from '#src/campaigns/statistics.ts'
import type { Campaign, CampaignRow } from '#src/campaigns/store.ts'
import { refuse } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { reasonTranslator } from '#api/http/preferences.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { envelope, reasonTranslationField, timestamp } from '#api/http/response-schemas.ts'

export const ACCESS = { admin: 'campaigns:manage' } as const
export const byId = z.object({ id: z.string() })
export const CAMPAIGN_STATE_NAMES = Object.keys(CAMPAIGN_STATES) as [CampaignState, ...CampaignState[]]
export const NO_CAMPAIGN = refuse('NOT_FOUND', 'There is no such campaign. List them with get-campaigns.')

const count = z.int().min(0)
const nullableText = z.string().nullable()
const nullableTime = timestamp.nullable()
const testSchema = z
  .object({ subject_b: z.string(), percent: z.int(), minutes: z.int(), winner: z.enum(['a', 'b']).nullable() })
  .nullable()
const campaignRow = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(CAMPAIGN_STATE_NAMES),
  reason: nullableText,
  ...reasonTranslationField,
  template_id: z.uuid().nullable(),
  subject: nullableText,
  from: nullableText,
  from_name: nullableText,
  reply_to: nullableText,
  audience_ids: z.array(z.uuid()),
  segment_id: z.uuid().nullable(),
  follows_id: z.uuid().nullable(),
  test: testSchema,
  spread_minutes: z.int().nullable(),
  track_opens: z.boolean().nullable(),
  track_clicks: z.boolean().nullable(),
  scheduled_at: nullableTime,
  timezone: nullableText,
  recipient_time: z.boolean(),
  started_at: nullableTime,
  sent_at: nullableTime,
  ended_at: nullableTime,
  created_at: timestamp,
  updated_at: timestamp,
  createdAt: timestamp,
  updatedAt: timestamp,
})

/** The public metrics; `bounced` is the sum of hard and soft bounces. */
export const CAMPAIGN_METRICS = [
  'recipients',
  'waiting',
  'dispatched',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'bounced_hard',
  'bounced_soft',
  'failed',
  'complained',
  'unsubscribed',
  'suppressed',
  'skipped',
  'cancelled',
  'machine_opened',
  'machine_clicked',
] as const
const metricsSchema = z.object(Object.fromEntries(CAMPAIGN_METRICS.map((name) => [name, count])))
/** A campaign in a list. */
export const listedCampaign = campaignRow.extend({ metrics: metricsSchema })
const variantsSchema = z
  .object({ a: metricsSchema, b: metricsSchema })
  .nullable()
  .meta({ description: 'the metrics of both subjects of a test' })
export const campaignResponse = envelope(
  campaignRow.extend({ body: nullableText, text: nullableText, metrics: metricsSchema, variants: variantsSchema }),
).meta({ id: 'CampaignAnswer' })

export async function respondWithCampaign(
  ctx: ApiContext,
  campaign: Campaign,
  message: string,
  headers: IncomingHttpHeaders = {},
): Promise<ApiResponse> {
  const statistics = await readStatistics(ctx.db, campaign.id)
  const variants =
    campaign.subjectB === null
      ? null
      : { a: presentMetrics(statistics.variants.a), b: presentMetrics(statistics.variants.b) }
  const data = {
    ...presentCampaign(campaign),
    ...reasonTranslator(headers, findCampaignTranslation)(campaign.reason),
    body: campaign.body,
    text: campaign.text,
    metrics: presentMetrics(statistics.all),
    variants: variants,
  }
  return { body: { success: true, message, data } }
}

export async function presentCampaigns(
  ctx: ApiContext,
  campaigns: readonly CampaignRow[],
): Promise<Record<string, unknown>[]> {
  const totalsOf = await readTotals(
    ctx.db,
    campaigns.map(({ id }) => id),
  )
  return campaigns.map((campaign) => ({
    ...presentCampaign(campaign),
    metrics: presentMetrics(totalsOf(campaign.id)),
  }))
}

function presentMetrics(statistics: CampaignCounts): Record<string, number> {
  const known: Readonly<Record<string, number>> = {
    ...countsOf(statistics),
    bounced: statistics.bounced_hard + statistics.bounced_soft,
  }
  return Object.fromEntries(CAMPAIGN_METRICS.map((name) => [name, known[name] ?? 0]))
}

function countsOf(statistics: CampaignCounts): Record<string, number> {
  return Object.fromEntries(CAMPAIGN_COUNTERS.map((name) => [name, statistics[name]]))
}

function presentCampaign(campaign: CampaignRow): Record<string, unknown> {
  const [created, updated] = [campaign.createdAt.toISOString(), campaign.updatedAt.toISOString()]
  const { subjectB, testPercent, testMinutes, winner } = campaign
  return {
    id: campaign.id,
    name: campaign.name,
    status: campaign.status,
    reason: campaign.reason,
    template_id: campaign.templateId,
    subject: campaign.subject,
    from: campaign.fromEmail,
    from_name: campaign.fromName,
    reply_to: campaign.replyTo,
    audience_ids: campaign.audienceIds,
    segment_id: campaign.segmentId,
    follows_id: campaign.followsId,
    test: subjectB === null ? null : { subject_b: subjectB, percent: testPercent, minutes: testMinutes, winner },
    spread_minutes: campaign.spreadMinutes,
    track_opens: campaign.trackOpens,
    track_clicks: campaign.trackClicks,
    scheduled_at: isoOf(campaign.scheduledAt),
    timezone: campaign.timezone,
    recipient_time: campaign.isRecipientTime,
    started_at: isoOf(campaign.startedAt),
    sent_at: isoOf(campaign.sentAt),
    ended_at: isoOf(campaign.endedAt),
    created_at: created,
    updated_at: updated,
    createdAt: created,
    updatedAt: updated,
  }
}

function isoOf(at: Date | null): string | null {
  return at?.toISOString() ?? null
}
