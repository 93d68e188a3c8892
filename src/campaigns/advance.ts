/**
 * One step of one campaign, in one transaction under its lock: a slice of the ledger is written, a slice of it dispatched, or the campaign
 * moves on because nothing is left to do. All that is known stands in rows, so any worker goes on where another died, at any step.
 *
 * The quota ran out, or the sending domain may not send any more: the campaign pauses and says why. Its workspace or itself is stopped by
 * the operator: it waits.
 */
import { loadPlans, type Plans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { NO_NEWS, type News } from '#src/queue/notifications.ts'
import { isOverQuota, readRoom } from '#src/messages/quota.ts'
import { schedule, type Due } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { LEAST_SLICE, MOST_AHEAD, sendSlice } from './dispatch.ts'
import { pickApart, pickDue, SLICE, type Picked } from './due-recipients.ts'
import { readFigures } from './statistics.ts'
import { writeLedger } from './ledger.ts'
import { moveCampaign } from './transitions.ts'
import { closeWaiting, reopenFailed, takeBack } from './reopen.ts'
import { lockCampaign, type Running } from './running.ts'
import { forgetSlow, noteSlow, setApart, viewSlow, type Looks } from './slow-receivers.ts'
import type { CampaignState } from './state.ts'
import { chooseWinner } from './winner.ts'

export interface Advancing extends Context {
  readonly plans: Plans
  /** Of this worker, at slow receivers. */
  readonly looks: Looks
}

export function withParts(ctx: Context): Advancing {
  return { ...ctx, plans: loadPlans(ctx.config.plansFile), looks: new Map() }
}

/** What a step did, for after its commit. */
interface Step {
  readonly isMore: boolean
  readonly due: readonly Due[]
  readonly news: News
}

const IDLE: Step = { isMore: false, due: [], news: NO_NEWS }
const MORE: Step = { ...IDLE, isMore: true }

const STEPS: Readonly<Partial<Record<CampaignState, (step: Stepping) => Promise<Step>>>> = {
  SENDING: send,
  SENT: complete,
  CANCELLED: windUp,
}

interface Stepping {
  readonly ctx: Advancing
  readonly tx: Queryable
  readonly campaign: Running
  readonly now: Date
}

/** True when there is more to do at once. */
export async function advance(ctx: Advancing, id: string): Promise<boolean> {
  const step = await ctx.db
    .transaction(async (tx) => {
      const campaign = await lockCampaign(tx, id)
      const run = campaign === null ? undefined : STEPS[campaign.status]
      return campaign === null || run === undefined ? IDLE : run({ ctx, tx, campaign, now: new Date(ctx.clock.now()) })
    })
    .catch((error: unknown) => {
      // other mail of the workspace took the rest: the next step finds out how much there is
      if (isOverQuota(error)) return MORE
      throw error
    })
  schedule(ctx, step.due, step.news)
  return step.isMore
}

/** Writes and dispatches by turns, so that the first mails leave while the ledger of a million is written. */
async function send(step: Stepping): Promise<Step> {
  const { tx, campaign, now } = step
  const isStopped = await findTrouble(step)
  if (isStopped !== null) return isStopped
  if (campaign.isRetrying) {
    await reopenFailed(tx, campaign, now)
    return MORE
  }
  if (campaign.isWritten) return dispatch(step)
  await writeLedger(tx, campaign)
  return { ...(await dispatch(step)), isMore: true }
}

const TROUBLE = sql`
  SELECT EXISTS (
      SELECT FROM domains
      WHERE id = $2 AND workspace_id = $1 AND verification_status IN ('verified', 'degraded')
    ) AS "maySend",
    EXISTS (
      SELECT FROM suspensions
      WHERE (until IS NULL OR until > $4)
        AND ((kind = 'workspace' AND subject = $1::text) OR (kind = 'campaign' AND subject = $3::text))
    ) AS "isHeld"
`

/** Why nothing may be dispatched now. */
async function findTrouble({ tx, campaign, now }: Stepping): Promise<Step | null> {
  const {
    rows: [row],
  } = await tx.query<{ maySend: boolean; isHeld: boolean }>(TROUBLE, [
    campaign.workspaceId,
    campaign.domainId,
    campaign.id,
    now,
  ])
  if (row?.isHeld === true) return IDLE
  return row?.maySend === true ? null : pause(tx, campaign, 'the sending domain is not verified any more')
}

async function pause(tx: Queryable, campaign: Running, reason: string): Promise<Step> {
  await moveCampaign(tx, campaign, 'pause', { reason })
  return IDLE
}

async function dispatch(step: Stepping): Promise<Step> {
  const { ctx, tx, now } = step
  const [{ all }, slow] = [await readFigures(tx, step.campaign.id), await viewSlow(tx, ctx.looks, step.campaign, now)]
  const kept = slow.rooms.length === 0 ? [] : await pickApart(tx, step.campaign, now, slow.rooms)
  if (kept.length > 0) return sendPicked(step, kept)
  const campaign = slow.rooms.length === 0 ? step.campaign : await forgetSlow(tx, step.campaign, slow.rooms, now)
  const limit = Math.min(SLICE, MOST_AHEAD - Math.max(0, all.ahead - slow.ahead))
  if (limit < LEAST_SLICE) return (await noteSlow(tx, ctx.looks, campaign, now)) ? MORE : IDLE
  const picked = await pickDue(tx, campaign, now, limit)
  if (picked.length === 0) return end(step, all.waiting)
  const apart = picked.flatMap(({ contactId, slow: receiver }) => (receiver === null ? [] : [{ contactId, receiver }]))
  if (apart.length > 0) await setApart(tx, campaign, apart)
  return apart.length === picked.length
    ? MORE
    : sendPicked(
        step,
        picked.filter(({ slow: receiver }) => receiver === null),
      )
}

async function sendPicked({ ctx, tx, campaign, now }: Stepping, picked: readonly Picked[]): Promise<Step> {
  const plan = ctx.plans[campaign.plan] ?? ctx.plans['free']
  const quota = plan?.monthlyQuota ?? null
  const room = await readRoom(tx, campaign.workspaceId, quota, now)
  if (room === 0) return pause(tx, campaign, 'the quota of this month is used up')
  const decided = picked.some(({ variant }) => variant === null) ? await decide(tx, campaign) : campaign
  const sent = await sendSlice(tx, decided, picked.slice(0, room ?? picked.length), { now, quota })
  return {
    isMore: true,
    due: sent.due,
    news: { hasDeliveries: sent.hasDeliveries, workspaces: sent.due.length > 0 ? [campaign.workspaceId] : [] },
  }
}

/** The first of the rest is due: the test is over. */
async function decide(tx: Queryable, campaign: Running): Promise<Running> {
  if (campaign.testPercent === null || campaign.winner !== null) return campaign
  const winner = chooseWinner(await readFigures(tx, campaign.id))
  await tx.query('UPDATE campaigns SET winner = $2 WHERE id = $1', [campaign.id, winner])
  return { ...campaign, winner }
}

/** Nothing is due: it is dispatched when the ledger is whole and nothing waits for later. */
async function end({ tx, campaign, now }: Omit<Stepping, 'ctx'>, waiting: number): Promise<Step> {
  if (!campaign.isWritten || waiting > 0) return IDLE
  await moveCampaign(tx, campaign, 'dispatch', { sent_at: now })
  return MORE
}

async function complete({ tx, campaign, now }: Stepping): Promise<Step> {
  const { all } = await readFigures(tx, campaign.id)
  if (all.settled < all.recipients) return IDLE
  await moveCampaign(tx, campaign, 'complete', { ended_at: now, is_open: false })
  return IDLE
}

/** A cancelled campaign: what was not dispatched is closed, what waits in the queue is taken back, what is being sent is waited for. */
async function windUp({ tx, campaign, now }: Stepping): Promise<Step> {
  if ((await closeWaiting(tx, campaign)) > 0) return MORE
  const { all } = await readFigures(tx, campaign.id)
  if (all.settled === all.recipients) {
    await tx.query('UPDATE campaigns SET is_open = false WHERE id = $1', [campaign.id])
    return IDLE
  }
  const news = await takeBack(tx, campaign, now)
  return news === null ? IDLE : { isMore: true, due: [], news }
}
