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
import { advance, withParts } from '#src/campaigns/advance.ts'
import { foldFigures } from '#src/campaigns/statistics.ts'
import { beginScheduled } from '#src/campaigns/scheduled-start.ts'
import { listOpen } from '#src/campaigns/running.ts'
import type { CampaignState } from '#src/campaigns/state.ts'
import { createRenderer } from '#src/templates/render.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 100
const FOLD_MS = 250
/** How long a campaign that has nothing to do now is left alone; SENDING it waits for room ahead of the senders. */
const REST_MS: Readonly<Partial<Record<CampaignState, number>>> = { SENDING: 100, SCHEDULED: 0 }
const USUAL_REST_MS = 1000
const AFTER_FAULT_MS = 5000

export function campaignLoop(ctx: Context): LoopSpec {
  const advancing = withParts(ctx)
  const isMine = ({ status }: Open): boolean => status !== 'SCHEDULED'
  return { name: 'campaigns', everyMs: EVERY_MS, round: roundOf(ctx, isMine, ({ id }) => advance(advancing, id)) }
}

export function campaignBeginLoop(ctx: Context): LoopSpec {
  // its threads start when a campaign does
  const starting = { ...ctx, renderer: createRenderer({ threads: 1 }) }
  const isMine = ({ status, startsAt }: Open): boolean =>
    status === 'SCHEDULED' && startsAt !== null && startsAt.getTime() <= ctx.clock.now()
  const begin = ({ workspaceId, id }: Open): Promise<boolean> =>
    beginScheduled(starting, { workspaceId, id }).then(() => false)
  return { name: 'campaigns that begin', everyMs: EVERY_MS, round: roundOf(ctx, isMine, begin) }
}

export function campaignFoldLoop(ctx: Context): LoopSpec {
  return { name: 'campaign-figures', everyMs: FOLD_MS, round: () => foldFigures(ctx.db) }
}

type Open = Awaited<ReturnType<typeof listOpen>>[number]

/** A step of each; `step` answers whether there is more to do at once. */
function roundOf(
  ctx: Context,
  isMine: (one: Open) => boolean,
  step: (one: Open) => Promise<boolean>,
): () => Promise<boolean> {
  const restUntil = new Map<string, number>()
  return async () => {
    let isMore = false
    const open = (await listOpen(ctx.db)).filter(isMine)
    for (const id of restUntil.keys()) if (!open.some((one) => one.id === id)) restUntil.delete(id)
    for (const one of open) {
      if ((restUntil.get(one.id) ?? 0) > performance.now()) continue
      const isMoreOfIt = await step(one).catch((error: unknown) => complain(ctx, one.id, error))
      if (isMoreOfIt === null) restUntil.set(one.id, performance.now() + AFTER_FAULT_MS)
      else if (!isMoreOfIt) restUntil.set(one.id, performance.now() + (REST_MS[one.status] ?? USUAL_REST_MS))
      isMore ||= isMoreOfIt === true
    }
    return isMore
  }
}

function complain(ctx: Context, id: string, error: unknown): null {
  if (isDatabaseAway(error)) throw error
  ctx.log.error({ err: error, campaign: id }, 'a step of a campaign failed by a fault of ours; it is tried again')
  return null
}
