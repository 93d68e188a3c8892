/**
 * A scheduled campaign whose time has come: it begins, or it fails and says why. One that was taken back, or set to another time, since the
 * worker saw it stays as it is.
 */
import { moveCampaign, type CampaignName } from './transitions.ts'
import { judgeAndMove, sendNow, type Starting } from './start.ts'

export async function beginScheduled(ctx: Starting, name: CampaignName): Promise<void> {
  await judgeAndMove(ctx, name, async (tx, campaign, { sendable, blocks }) => {
    const { status, startsAt, isRecipientTime, isForced } = campaign
    const now = new Date(ctx.clock.now())
    if (status !== 'SCHEDULED' || startsAt === null || startsAt > now) return { kind: 'elsewhere', status }
    if (sendable !== null && (isForced || blocks.length === 0))
      return sendNow(ctx, tx, campaign, { name, sendable, isRecipientTime })
    return moveCampaign(tx, name, 'fail', {
      reason: blocks.map(({ message }) => message).join('; '),
      ended_at: now,
      is_open: false,
    })
  })
}
