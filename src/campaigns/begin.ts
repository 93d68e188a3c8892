/** A scheduled campaign whose time has come: it begins, or it fails and says why. */
import type { Advancing } from './advance.ts'
import { moveCampaign, type CampaignName } from './moves.ts'
import { startCampaign } from './start.ts'

/** True when there is more to do at once. */
export async function beginScheduled(ctx: Advancing, name: CampaignName): Promise<boolean> {
  const result = await startCampaign(ctx, name)
  if (result.kind === 'blocked') {
    const reason = result.blocks.map(({ message }) => message).join('; ')
    await moveCampaign(ctx.db, name, 'fail', { reason, ended_at: new Date(ctx.clock.now()), is_open: false })
  }
  return result.kind === 'moved'
}
