/**
 * Runs campaigns: one step of each in turn, so that a large campaign delays no other; starts scheduled campaigns; and
 * applies their statistics. Any number of workers share the campaigns; one worker holds a campaign for one step. A step
 * that fails is retried and does not delay other campaigns.
 *
 * Starting is a separate loop: it validates the content, which can take seconds for hostile templates, and running
 * campaigns do not wait for it.
 */
import type { WorkFound } from '#src/concurrency/work-found.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { advance, createAdvanceContext } from '#src/campaigns/advance.ts'
import { startScheduledCampaign } from '#src/campaigns/scheduled-start.ts'
import { listOpenCampaigns } from '#src/campaigns/locked-campaign.ts'
import type { CampaignState } from '#src/campaigns/state.ts'
import { createRenderer } from '#src/templates/renderer.ts'
import type { IdlingRound } from './loop.ts'

/** The pause after a step without work. A SENDING campaign waits for room in the queue. */
const IDLE_MS: Readonly<Partial<Record<CampaignState, number>>> = { SENDING: 100, SCHEDULED: 0 }
const DEFAULT_IDLE_MS = 1000
const RETRY_MS = 5000

export function createCampaignRound(ctx: Context): IdlingRound {
  const advancing = createAdvanceContext(ctx)
  const isMine = ({ status }: OpenCampaign): boolean => status !== 'SCHEDULED'
  return roundOf(ctx, isMine, ({ id }) => advance(advancing, id))
}

export function createCampaignStartRound(ctx: Context): IdlingRound {
  // its threads start on the first use
  const starting = { ...ctx, renderer: createRenderer({ threads: 1 }) }
  const isMine = ({ status, startsAt }: OpenCampaign): boolean =>
    status === 'SCHEDULED' && startsAt !== null && startsAt.getTime() <= ctx.clock.now()
  const begin = ({ workspaceId, id }: OpenCampaign): Promise<boolean> =>
    startScheduledCampaign(starting, { workspaceId, id }).then(() => false)
  return roundOf(ctx, isMine, begin)
}

type OpenCampaign = Awaited<ReturnType<typeof listOpenCampaigns>>[number]

/** Runs one step of each campaign; `step` returns whether there is more to do immediately. */
function roundOf(
  ctx: Context,
  isMine: (one: OpenCampaign) => boolean,
  step: (one: OpenCampaign) => Promise<boolean>,
): IdlingRound {
  const idleUntil = new Map<string, number>()
  return async (): Promise<WorkFound> => {
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
    if (isMore) return 'more'
    return open.length > 0 ? 'some' : 'none'
  }
}

function logStepFailure(ctx: Context, id: string, error: unknown): null {
  if (isDatabaseAway(error)) throw error
  ctx.log.error({ err: error, campaign: id }, 'campaign step failed; it is retried')
  return null
}
