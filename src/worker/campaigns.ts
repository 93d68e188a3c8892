/**
 * Campaigns, a step of each in turn, so that a large one delays no other; and their figures, folded. Any number of workers share them: a
 * campaign is in one hand for the length of a step. One whose step fails does not hold up the others; it is tried again.
 */
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/db.ts'
import { advance, withParts, type Advancing } from '#src/campaigns/advance.ts'
import { foldFigures } from '#src/campaigns/figures.ts'
import { beginScheduled } from '#src/campaigns/begin.ts'
import { listOpen } from '#src/campaigns/running.ts'
import type { CampaignState } from '#src/campaigns/state.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 100
const FOLD_MS = 250
/** How long a campaign that has nothing to do now is left alone; SENDING it waits for room ahead of the senders. */
const REST_MS: Readonly<Partial<Record<CampaignState, number>>> = { SENDING: 100, SCHEDULED: 0 }
const USUAL_REST_MS = 1000
const AFTER_FAULT_MS = 5000

export function campaignLoop(ctx: Context): LoopSpec {
  const advancing = withParts(ctx)
  const restUntil = new Map<string, number>()
  return { name: 'campaigns', everyMs: EVERY_MS, round: () => advanceAll(advancing, restUntil) }
}

export function campaignFoldLoop(ctx: Context): LoopSpec {
  return { name: 'campaign-figures', everyMs: FOLD_MS, round: () => foldFigures(ctx.db) }
}

async function advanceAll(ctx: Advancing, restUntil: Map<string, number>): Promise<boolean> {
  let isMore = false
  const open = await listOpen(ctx.db)
  for (const id of restUntil.keys()) if (!open.some((one) => one.id === id)) restUntil.delete(id)
  for (const { id, workspaceId, status, startsAt } of open) {
    if ((restUntil.get(id) ?? 0) > performance.now()) continue
    const isDue = status !== 'SCHEDULED' || (startsAt !== null && startsAt.getTime() <= ctx.clock.now())
    const step = status === 'SCHEDULED' ? () => beginScheduled(ctx, { workspaceId, id }) : () => advance(ctx, id)
    const isMoreOfIt = isDue && await step().catch((error: unknown) => complain(ctx, id, error))
    if (isMoreOfIt === null) restUntil.set(id, performance.now() + AFTER_FAULT_MS)
    else if (!isMoreOfIt) restUntil.set(id, performance.now() + (REST_MS[status] ?? USUAL_REST_MS))
    isMore ||= isMoreOfIt === true
  }
  return isMore
}

function complain(ctx: Advancing, id: string, error: unknown): null {
  if (isDatabaseAway(error)) throw error
  ctx.log.error({ err: error, campaign: id }, 'a step of a campaign failed by a fault of ours; it is tried again')
  return null
}
