/**
 * Campaigns, a step of each in turn, so that a large one delays no other; those whose time has come; and their figures, folded. Any number
 * of workers share them: a campaign is in one hand for the length of a step. One whose step fails does not hold up the others; it is tried
 * again.
 *
 * Beginning is a loop of its own: what a campaign says is judged then, which takes seconds where somebody means it to, and those that are
 * sent do not wait for it.
 */
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { advance, createAdvanceContext } from '#src/campaigns/advance.ts'
import { mergeCounterDeltas } from '#src/campaigns/statistics.ts'
import { startScheduledCampaign } from '#src/campaigns/scheduled-start.ts'
import { listOpenCampaigns } from '#src/campaigns/locked-campaign.ts'
import type { CampaignState } from '#src/campaigns/state.ts'
import { createRenderer } from '#src/templates/renderer.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 100
const STATISTICS_EVERY_MS = 250
/** How long a campaign that has nothing to do now is left alone; SENDING it waits for room ahead of the senders. */
const IDLE_MS: Readonly<Partial<Record<CampaignState, number>>> = { SENDING: 100, SCHEDULED: 0 }
const DEFAULT_IDLE_MS = 1000
const RETRY_MS = 5000

export function campaignLoop(ctx: Context): LoopSpec {
  const advancing = createAdvanceContext(ctx)
  const isMine = ({ status }: OpenCampaign): boolean => status !== 'SCHEDULED'
  return { name: 'campaigns', everyMs: EVERY_MS, round: roundOf(ctx, isMine, ({ id }) => advance(advancing, id)) }
}

export function campaignStartLoop(ctx: Context): LoopSpec {
  // its threads start when a campaign does
  const starting = { ...ctx, renderer: createRenderer({ threads: 1 }) }
  const isMine = ({ status, startsAt }: OpenCampaign): boolean =>
    status === 'SCHEDULED' && startsAt !== null && startsAt.getTime() <= ctx.clock.now()
  const begin = ({ workspaceId, id }: OpenCampaign): Promise<boolean> =>
    startScheduledCampaign(starting, { workspaceId, id }).then(() => false)
  return { name: 'campaigns that begin', everyMs: EVERY_MS, round: roundOf(ctx, isMine, begin) }
}

export function campaignStatisticsLoop(ctx: Context): LoopSpec {
  return { name: 'campaign-figures', everyMs: STATISTICS_EVERY_MS, round: () => mergeCounterDeltas(ctx.db) }
}

type OpenCampaign = Awaited<ReturnType<typeof listOpenCampaigns>>[number]

/** A step of each; `step` answers whether there is more to do at once. */
function roundOf(
  ctx: Context,
  isMine: (one: OpenCampaign) => boolean,
  step: (one: OpenCampaign) => Promise<boolean>,
): () => Promise<boolean> {
  const idleUntil = new Map<string, number>()
  return async () => {
    let isMore = false
    const open = (await listOpenCampaigns(ctx.db)).filter(isMine)
    for (const id of idleUntil.keys()) if (!open.some((one) => one.id === id)) idleUntil.delete(id)
    for (const one of open) {
      if ((idleUntil.get(one.id) ?? 0) > performance.now()) continue
      const isMoreOfIt = await step(one).catch((error: unknown) => logStepFailure(ctx, one.id, error))
      if (isMoreOfIt === null) idleUntil.set(one.id, performance.now() + RETRY_MS)
      else if (!isMoreOfIt) idleUntil.set(one.id, performance.now() + (IDLE_MS[one.status] ?? DEFAULT_IDLE_MS))
      isMore ||= isMoreOfIt === true
    }
    return isMore
  }
}

function logStepFailure(ctx: Context, id: string, error: unknown): null {
  if (isDatabaseAway(error)) throw error
  ctx.log.error({ err: error, campaign: id }, 'a step of a campaign failed by a fault of ours; it is tried again')
  return null
}
