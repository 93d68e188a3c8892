/** What sending a campaign would cost, before it is sent. */
import { z } from 'zod'
import { previewCampaign, type Finding, type Preview } from '#src/campaigns/preview.ts'
import { findCampaign, type Campaign } from '#src/campaigns/store.ts'
import { isUuid } from '#src/platform/id.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { route } from '#api/http/route.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { ACCESS, byId, NO_CAMPAIGN } from './campaign-view.ts'

const count = z.int().min(0)
const finding = z.object({
  code: z.string(),
  level: z.enum(['green', 'yellow', 'red']),
  message: z.string(),
  may_force: z.boolean(),
})
const receiver = z.object({
  receiver: z.string(),
  recipients: count,
  warm_up_room: count.nullable(),
  best_hour: count.nullable(),
})
const preview = z.object({
  is_red: z.boolean(),
  is_estimate: z.boolean(),
  recipients: count,
  receiver_count: count,
  receivers: z.array(receiver),
  quota_room: count.nullable(),
  expected_finish_at: moment.nullable(),
  never_mailed_share: z.number().min(0).max(1).nullable(),
  findings: z.array(finding),
})

export const campaignPreview = route({
  name: 'preview-campaign',
  summary: 'What sending a campaign would cost: recipients by receiver, room, expected finish, findings',
  description:
    'The 20 largest receivers are listed. `is_estimate`: of more than 100,000 members every 16th is counted. Red findings stop a start or a schedule, unless it is forced; those that say `may_force: false` always do.',
  method: 'GET',
  paths: ['/public/campaigns/:id/preview'],
  access: ACCESS,
  params: byId,
  status: 200,
  answer: enveloped(preview),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const campaign = isUuid(params.id) ? await findCampaign(ctx.db, caller.workspaceId, params.id) : null
    if (campaign === null) return NO_CAMPAIGN
    const seen = await look(ctx, caller, campaign)
    return {
      body: {
        success: true,
        message: isRed(seen) ? 'It cannot be sent as it is.' : 'It may be sent.',
        data: present(seen),
      },
    }
  },
})

/** For who asks, by the plan of the workspace. */
export function look(
  ctx: ApiContext,
  caller: { readonly workspaceId: string; readonly plan: string },
  campaign: Campaign,
): Promise<Preview> {
  return previewCampaign(
    ctx,
    { workspaceId: caller.workspaceId, quota: planOf(ctx, caller.plan).monthlyQuota },
    campaign,
  )
}

export function listRed({ findings }: Preview): Finding[] {
  return findings.filter(({ level }) => level === 'red')
}

function isRed(seen: Preview): boolean {
  return listRed(seen).length > 0
}

function present(seen: Preview): Record<string, unknown> {
  const { counted, receivers, quotaRoom, expectedFinish, neverMailedShare, findings } = seen
  return {
    is_red: isRed(seen),
    is_estimate: counted.isEstimate,
    recipients: counted.total,
    receiver_count: counted.receivers,
    receivers: receivers.map((one) => ({
      receiver: one.receiver,
      recipients: one.recipients,
      warm_up_room: one.warmUpRoom,
      best_hour: one.bestHour,
    })),
    quota_room: quotaRoom,
    expected_finish_at: expectedFinish?.toISOString() ?? null,
    never_mailed_share: neverMailedShare,
    findings: findings.map(({ code, level, message, mayForce }) => ({ code, level, message, may_force: mayForce })),
  }
}
