/**
 * A scheduled campaign whose time has come: it begins, or it fails and says why. One that was taken back, or set to another time, since the
 * worker saw it stays as it is.
 */
import type { Advancing } from './advance.ts'
import { moveCampaign, type CampaignName } from './moves.ts'
import { judgeAndMove, sendNow } from './start.ts'

/** True when there is more to do at once. */
export async function beginScheduled(ctx: Advancing, name: CampaignName): Promise<boolean> {
  const result = await judgeAndMove(ctx, name, async (tx, campaign, { sendable, blocks }) => {
    const { status, startsAt, isRecipientTime } = campaign
    const now = new Date(ctx.clock.now())
    if (status !== 'SCHEDULED' || startsAt === null || startsAt > now) return { kind: 'elsewhere', status }
    if (sendable !== null) return sendNow(ctx, tx, campaign, { name, sendable, isRecipientTime })
    return moveCampaign(tx, name, 'fail', { reason: blocks.map(({ message }) => message).join('; '), ended_at: now, is_open: false })
  })
  return result.kind === 'moved' && result.status === 'SENDING'
}
