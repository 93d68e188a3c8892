/**
 * The preview of a campaign: its recipients by receiver, the remaining quota, its expected end, and findings that
 * warn against a start or prevent it.
 */
import { z } from 'zod'
import { previewCampaign, type PreviewFinding, type CampaignPreview } from '#src/campaigns/preview.ts'
import { findCampaign, type Campaign } from '#src/campaigns/store.ts'
import { isUuid } from '#src/platform/id.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { route } from '#api/http/route.ts'
import { envelope, timestamp, translation } from '#api/http/response-schemas.ts'
import { ACCESS, byId, NO_CAMPAIGN } from './campaign-view.ts'

const count = z.int().min(0)
const findingSchema = z.object({
  code: z.string(),
  level: z.enum(['green', 'yellow', 'red']),
  message: z.string(),
  translation: translation.nullable().meta({ description: 'of the message; null: there is none' }),
  may_force: z.boolean(),
})
const receiverSchema = z.object({
  receiver: z.string(),
  recipients: count,
  warm_up_room: count.nullable(),
  best_hour: count.nullable(),
})
const previewSchema = z.object({
  is_red: z.boolean(),
  is_estimate: z.boolean(),
  recipients: count,
  receiver_count: count,
  receivers: z.array(receiverSchema),
  quota_room: count.nullable(),
  expected_finish_at: timestamp.nullable(),
  never_mailed_share: z.number().min(0).max(1).nullable(),
  findings: z.array(findingSchema),
})

export const campaignPreview = route({
  name: 'preview-campaign',
  summary: 'Preview a campaign: recipients by receiver, remaining quota, expected end, findings',
  description:
    'Lists the 20 largest receivers. `is_estimate`: with more than 100,000 members only every 16th is counted. Red ' +
    'findings prevent a start or a schedule unless it is forced; those with `may_force: false` always prevent it.',
  method: 'GET',
  paths: ['/public/campaigns/:id/preview'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: envelope(previewSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const campaign = isUuid(params.id) ? await findCampaign(ctx.db, caller.workspaceId, params.id) : null
    if (campaign === null) return NO_CAMPAIGN
    const preview = await previewForCaller(ctx, caller, campaign)
    return {
      body: {
        success: true,
        message: hasRedFinding(preview) ? 'The campaign cannot be sent as it is.' : 'The campaign can be sent.',
        data: presentPreview(preview),
      },
    }
  },
})

/** The preview, with the quota of the caller's plan. */
export function previewForCaller(
  ctx: ApiContext,
  caller: { readonly workspaceId: string; readonly plan: string },
  campaign: Campaign,
): Promise<CampaignPreview> {
  return previewCampaign(
    ctx,
    { workspaceId: caller.workspaceId, quota: planOf(ctx, caller.plan).monthlyQuota },
    campaign,
  )
}

export function listRedFindings({ findings }: CampaignPreview): PreviewFinding[] {
  return findings.filter(({ level }) => level === 'red')
}

function hasRedFinding(preview: CampaignPreview): boolean {
  return listRedFindings(preview).length > 0
}

function presentPreview(preview: CampaignPreview): Record<string, unknown> {
  const {
    recipientCounts: counted,
    receivers,
    quotaRemaining: quotaRoom,
    expectedFinish,
    neverMailedShare,
    findings,
  } = preview
  return {
    is_red: hasRedFinding(preview),
    is_estimate: counted.isEstimate,
    recipients: counted.total,
    receiver_count: counted.receivers,
    receivers: receivers.map((one) => ({
      receiver: one.receiver,
      recipients: one.recipients,
      warm_up_room: one.warmUpRemaining,
      best_hour: one.bestHour,
    })),
    quota_room: quotaRoom,
    expected_finish_at: expectedFinish?.toISOString() ?? null,
    never_mailed_share: neverMailedShare,
    findings: findings.map(({ mayForce, ...finding }) => ({ ...finding, may_force: mayForce })),
  }
}
