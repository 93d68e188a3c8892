/**
 * Runs one step of one campaign in one transaction under the campaign's lock: writes a slice of the recipient ledger,
 * dispatches a slice of it, or moves the campaign to its next state when nothing is left to do. All progress is stored
 * in rows, so after a crash at any point another worker continues.
 *
 * A campaign pauses, with a reason, when the monthly quota is used up or its sending domain may no longer send. While
 * an operator suspends the workspace or the campaign, it waits, and it waits while the installation is not complete
 * (src/going-live/campaign-hold.ts).
 */
import { loadPlans, type Plans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { holdCampaign, readCampaignHold } from '#src/going-live/campaign-hold.ts'
import { isQuotaExceeded, readRemainingQuota } from '#src/messages/quota.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { MIN_SLICE, MAX_QUEUED, dispatchSlice } from './dispatch.ts'
import { readDueAtSlowReceivers, readDueRecipients, SLICE, type DueCampaignRecipient } from './due-recipients.ts'
import { readStatistics } from './statistics.ts'
import { writeLedger } from './ledger.ts'
import { moveCampaign } from './transitions.ts'
import { closeWaiting, reopenFailed, cancelQueued } from './reopen.ts'
import { lockCampaign, type LockedCampaign } from './locked-campaign.ts'
import {
  removeRecoveredReceivers,
  addSlowReceivers,
  setApart,
  checkSlowReceivers,
  type SlowReceiverChecks,
} from './slow-receivers.ts'
import type { CampaignState } from './state.ts'
import { chooseWinner } from './winner.ts'

export interface AdvanceContext extends Context {
  readonly plans: Plans
  /** This worker's latest checks of slow receivers, by campaign. */
  readonly slowReceiverChecks: SlowReceiverChecks
}

export function createAdvanceContext(ctx: Context): AdvanceContext {
  return { ...ctx, plans: loadPlans(ctx.config.plansFile), slowReceiverChecks: new Map() }
}

/** The result of a step, for use after its commit. */
interface StepResult {
  readonly hasMore: boolean
  readonly due: readonly DueRecipient[]
  readonly news: CommitNotifications
}

const IDLE: StepResult = { hasMore: false, due: [], news: NO_NOTIFICATIONS }
const MORE: StepResult = { ...IDLE, hasMore: true }

const STEP_BY_STATE: Readonly<Partial<Record<CampaignState, (step: StepContext) => Promise<StepResult>>>> = {
  SENDING: advanceSending,
  SENT: advanceSent,
  CANCELLED: advanceCancelled,
}

interface StepContext {
  readonly ctx: AdvanceContext
  readonly tx: Queryable
  readonly campaign: LockedCampaign
  readonly now: Date
}

/** Runs one step. Returns true if the campaign has more work right now. */
export async function advance(ctx: AdvanceContext, id: string): Promise<boolean> {
  const step = await ctx.db
    .transaction(async (tx) => {
      const campaign = await lockCampaign(tx, id)
      const run = campaign === null ? undefined : STEP_BY_STATE[campaign.status]
      return campaign === null || run === undefined ? IDLE : run({ ctx, tx, campaign, now: new Date(ctx.clock.now()) })
    })
    .catch((error: unknown) => {
      // other messages of the workspace used the rest of the quota; the next step reads what is left
      if (isQuotaExceeded(error)) return MORE
      throw error
    })
  schedule(ctx, step.due, step.news)
  return step.hasMore
}

/**
 * Alternates between writing and dispatching, so that the first messages leave while a ledger of a million rows is
 * still being written.
 */
async function advanceSending(step: StepContext): Promise<StepResult> {
  const { tx, campaign, now } = step
  const blocked = await findBlocker(step)
  if (blocked !== null) return blocked
  if (campaign.isRetrying) {
    await reopenFailed(tx, campaign, now)
    return MORE
  }
  if (campaign.isWritten) return dispatchDue(step)
  await writeLedger(tx, campaign)
  return { ...(await dispatchDue(step)), hasMore: true }
}

const FIND_BLOCKERS = sql`
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

/** Returns the step result if nothing may be dispatched now; null if the campaign may send. */
async function findBlocker({ ctx, tx, campaign, now }: StepContext): Promise<StepResult | null> {
  const {
    rows: [row],
  } = await tx.query<{ maySend: boolean; isHeld: boolean }>(FIND_BLOCKERS, [
    campaign.workspaceId,
    campaign.domainId,
    campaign.id,
    now,
  ])
  if (row?.isHeld === true) return IDLE
  const hold = await readCampaignHold(tx, ctx.config)
  if (hold.kind === 'held') await holdCampaign(tx, campaign.id, hold.reason)
  if (hold.kind !== 'none') return IDLE
  return row?.maySend === true ? null : pauseCampaign(tx, campaign, 'the sending domain is no longer verified')
}

async function pauseCampaign(tx: Queryable, campaign: LockedCampaign, reason: string): Promise<StepResult> {
  await moveCampaign(tx, campaign, 'pause', { reason })
  return IDLE
}

async function dispatchDue(step: StepContext): Promise<StepResult> {
  const { ctx, tx, now } = step
  const [{ all }, slow] = [
    await readStatistics(tx, step.campaign.id),
    await checkSlowReceivers(tx, ctx.slowReceiverChecks, step.campaign, now),
  ]
  const dueAtSlowReceivers =
    slow.capacities.length === 0 ? [] : await readDueAtSlowReceivers(tx, step.campaign, now, slow.capacities)
  if (dueAtSlowReceivers.length > 0) return dispatchRecipients(step, dueAtSlowReceivers)
  const campaign =
    slow.capacities.length === 0
      ? step.campaign
      : await removeRecoveredReceivers(tx, step.campaign, slow.capacities, now)
  const limit = Math.min(SLICE, MAX_QUEUED - Math.max(0, all.ahead - slow.queued))
  if (limit < MIN_SLICE) return (await addSlowReceivers(tx, ctx.slowReceiverChecks, campaign, now)) ? MORE : IDLE
  const recipients = await readDueRecipients(tx, campaign, now, limit)
  if (recipients.length === 0) return finishDispatch(step, all.waiting)
  const forSlowReceivers = recipients.flatMap(({ contactId, slowReceiver: receiver }) =>
    receiver === null ? [] : [{ contactId, receiver }],
  )
  if (forSlowReceivers.length > 0) await setApart(tx, campaign, forSlowReceivers)
  return forSlowReceivers.length === recipients.length
    ? MORE
    : dispatchRecipients(
        step,
        recipients.filter(({ slowReceiver: receiver }) => receiver === null),
      )
}

async function dispatchRecipients(
  { ctx, tx, campaign, now }: StepContext,
  recipients: readonly DueCampaignRecipient[],
): Promise<StepResult> {
  const plan = ctx.plans[campaign.plan] ?? ctx.plans['free']
  const quota = plan?.monthlyQuota ?? null
  const remaining = await readRemainingQuota(tx, campaign.workspaceId, quota, now)
  if (remaining === 0) return pauseCampaign(tx, campaign, 'the quota of this month is used up')
  const withWinner = recipients.some(({ variant }) => variant === null) ? await decideWinner(tx, campaign) : campaign
  const dispatched = await dispatchSlice(tx, withWinner, recipients.slice(0, remaining ?? recipients.length), {
    now,
    quota,
  })
  return {
    hasMore: true,
    due: dispatched.due,
    news: {
      hasDeliveries: dispatched.hasDeliveries,
      workspaces: dispatched.due.length > 0 ? [campaign.workspaceId] : [],
    },
  }
}

/** Chooses the winner of an A/B test when the first recipient outside the test is due. */
async function decideWinner(tx: Queryable, campaign: LockedCampaign): Promise<LockedCampaign> {
  if (campaign.testPercent === null || campaign.winner !== null) return campaign
  const winner = chooseWinner(await readStatistics(tx, campaign.id))
  await tx.query('UPDATE campaigns SET winner = $2 WHERE id = $1', [campaign.id, winner])
  return { ...campaign, winner }
}

/** Nothing is due: the campaign is SENT once the ledger is complete and no recipient waits for a later time. */
async function finishDispatch({ tx, campaign, now }: Omit<StepContext, 'ctx'>, waiting: number): Promise<StepResult> {
  if (!campaign.isWritten || waiting > 0) return IDLE
  await moveCampaign(tx, campaign, 'dispatch', { sent_at: now })
  return MORE
}

async function advanceSent({ tx, campaign, now }: StepContext): Promise<StepResult> {
  const { all } = await readStatistics(tx, campaign.id)
  if (all.settled < all.recipients) return IDLE
  await moveCampaign(tx, campaign, 'complete', { ended_at: now, is_open: false })
  return IDLE
}

/**
 * Closes a cancelled campaign: undispatched rows are closed, queued messages are cancelled, and messages being sent now
 * are awaited.
 */
async function advanceCancelled({ tx, campaign, now }: StepContext): Promise<StepResult> {
  if ((await closeWaiting(tx, campaign)) > 0) return MORE
  const { all } = await readStatistics(tx, campaign.id)
  if (all.settled === all.recipients) {
    await tx.query('UPDATE campaigns SET is_open = false WHERE id = $1', [campaign.id])
    return IDLE
  }
  const news = await cancelQueued(tx, campaign, now)
  return news === null ? IDLE : { hasMore: true, due: [], news }
}
