/**
 * Starts a scheduled campaign when its time comes, or moves it to FAILED with a reason. A campaign that was recalled or
 * rescheduled since the worker read it is left unchanged.
 */
import { moveCampaign, type CampaignKey } from './transitions.ts'
import { validateAndMove, sendNow, type StartDeps } from './start.ts'

export async function startScheduledCampaign(ctx: StartDeps, name: CampaignKey): Promise<void> {
  await validateAndMove(ctx, name, async (tx, campaign, { sendable, blockers }) => {
    const { status, startsAt, isRecipientTime, isForced } = campaign
    const now = new Date(ctx.clock.now())
    if (status !== 'SCHEDULED' || startsAt === null || startsAt > now) return { kind: 'wrong-state', status }
    if (sendable !== null && (isForced || blockers.length === 0))
      return sendNow(ctx, tx, campaign, { name, sendable, isRecipientTime })
    return moveCampaign(tx, name, 'fail', {
      reason: blockers.map(({ message }) => message).join('; '),
      ended_at: now,
      is_open: false,
    })
  })
}
