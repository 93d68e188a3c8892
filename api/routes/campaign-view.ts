/** Campaigns as answers have them: the fields, the figures of the ledger, and what a campaign's name in a path leads to. */
import { z } from 'zod'
import { CAMPAIGN_STATES, type CampaignState } from '#src/campaigns/state.ts'
import { FIGURES, readFigures, type Figures } from '#src/campaigns/statistics.ts'
import type { Campaign, CampaignRow } from '#src/campaigns/store.ts'
import { refuse } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import type { Answer } from '#api/http/route.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'

export const ACCESS = { admin: 'campaigns:manage' } as const
export const byId = z.object({ id: z.string() })
export const STATES = Object.keys(CAMPAIGN_STATES) as [CampaignState, ...CampaignState[]]
export const NO_CAMPAIGN = refuse('NOT_FOUND', 'There is no such campaign.')

const count = z.int().min(0)
const text = z.string().nullable()
const time = moment.nullable()
const test = z
  .object({ subject_b: z.string(), percent: z.int(), minutes: z.int(), winner: z.enum(['a', 'b']).nullable() })
  .nullable()
export const row = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(STATES),
  reason: text,
  template_id: z.uuid().nullable(),
  subject: text,
  from: text,
  from_name: text,
  reply_to: text,
  audience_ids: z.array(z.uuid()),
  segment_id: z.uuid().nullable(),
  follows_id: z.uuid().nullable(),
  test,
  spread_minutes: z.int().nullable(),
  track_opens: z.boolean().nullable(),
  track_clicks: z.boolean().nullable(),
  scheduled_at: time,
  timezone: text,
  recipient_time: z.boolean(),
  started_at: time,
  sent_at: time,
  ended_at: time,
  created_at: moment,
  updated_at: moment,
  createdAt: moment,
  updatedAt: moment,
})

/** The figures that people are shown; `bounced` is both kinds. */
export const METRICS = [
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
const metrics = z.object(Object.fromEntries(METRICS.map((name) => [name, count])))
const variants = z
  .object({ a: metrics, b: metrics })
  .nullable()
  .meta({ description: 'of a test of subjects: the two sides' })
export const shown = enveloped(row.extend({ body: text, text, metrics, variants })).meta({ id: 'CampaignAnswer' })

export async function show(ctx: ApiContext, campaign: Campaign, message: string): Promise<Answer> {
  const figures = await readFigures(ctx.db, campaign.id)
  const ofVariants =
    campaign.subjectB === null ? null : { a: metricsOf(figures.variants.a), b: metricsOf(figures.variants.b) }
  const data = {
    ...present(campaign),
    body: campaign.body,
    text: campaign.text,
    metrics: metricsOf(figures.all),
    variants: ofVariants,
  }
  return { body: { success: true, message, data } }
}

function metricsOf(figures: Figures): Record<string, number> {
  const known: Readonly<Record<string, number>> = {
    ...pick(figures),
    bounced: figures.bounced_hard + figures.bounced_soft,
  }
  return Object.fromEntries(METRICS.map((name) => [name, known[name] ?? 0]))
}

function pick(figures: Figures): Record<string, number> {
  return Object.fromEntries(FIGURES.map((name) => [name, figures[name]]))
}

export function present(campaign: CampaignRow): Record<string, unknown> {
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
