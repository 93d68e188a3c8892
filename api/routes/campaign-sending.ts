/**
 * The life of a campaign after the draft: start, schedule, recall, pause, resume, cancel, retry failed recipients,
 * and create a follow-up draft for recipients who did not open it. Each move names the state it starts from; in any
 * other state nothing changes, and the response names the present state.
 */
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import { aliasOf, nonEmptyLine, singleLine } from '#src/campaigns/content.ts'
import { createFollowUp } from '#src/campaigns/follow-up.ts'
import {
  moveCampaign,
  type CampaignMove,
  type CampaignKey,
  type CampaignUpdates,
  type CampaignMoveResult,
} from '#src/campaigns/transitions.ts'
import { retryFailed } from '#src/campaigns/retry.ts'
import { planStart, type PlannedStart } from '#src/campaigns/schedule.ts'
import { validateAndMove, startCampaign, type StartBlocker } from '#src/campaigns/start.ts'
import { findCampaign } from '#src/campaigns/store.ts'
import type { Queryable } from '#src/stores/db.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { rescheduleTargets } from '#src/queue/suspensions.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { listRedFindings, previewForCaller } from './campaign-preview.ts'
import { ACCESS, byId, NO_CAMPAIGN, respondWithCampaign, campaignResponse } from './campaign-view.ts'

const MAX_ZONE = 64
const forceField = z.boolean().default(false).meta({ description: 'send although the preview has red findings' })
const startBody = z.object({ force: forceField }).prefault({})
const timeField = z.string().max(40).optional()
const recipientTimeField = z.boolean().optional()
const scheduleBody = z
  .object({
    scheduled_at: timeField.meta({
      description: '`YYYY-MM-DD_HH:MM:SS` or ISO 8601; without an offset, in `timezone`',
    }),
    scheduledAt: timeField.meta(aliasOf('scheduled_at')),
    scheduled_for: timeField.meta(aliasOf('scheduled_at')),
    timezone: singleLine(MAX_ZONE).default('UTC'),
    recipient_time: recipientTimeField.meta({
      description: 'send at this local time of each recipient; `timezone` is used for recipients without one',
    }),
    recipientTime: recipientTimeField.meta(aliasOf('recipient_time')),
    force: forceField,
  })
  .transform((given, sink) => {
    const text = given.scheduled_at ?? given.scheduledAt ?? given.scheduled_for
    if (text === undefined) sink.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'is required' })
    const { timezone, recipient_time: isRecipientTime = given.recipientTime ?? false } = given
    return { text: text ?? '', timezone, isRecipientTime: isRecipientTime, force: given.force }
  })
  .meta({ required: ['scheduled_at'] })
const followUpBody = z.object({ name: nonEmptyLine(255).nullish(), subject: nonEmptyLine(998).nullish() }).prefault({})

const start = route({
  name: 'start-campaign',
  summary: 'Start a campaign now',
  method: 'POST',
  paths: ['/public/campaigns/:id/start'],
  access: ACCESS,
  params: byId,
  body: startBody,
  status: 200,
  response: campaignResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params, body }) =>
    withCampaignName({ workspaceId: caller.workspaceId, id: params.id }, async (name) => {
      const refusal = body.force ? null : await refuseIfRed(ctx, caller, name)
      if (refusal !== null) return refusal
      const result = await startCampaign(ctx, name)
      return result.kind === 'blocked'
        ? refuseBlocked(result.blockers)
        : respondWithMove(ctx, name, result, 'The campaign is being sent.')
    }),
})

const schedule = route({
  name: 'schedule-campaign',
  summary: 'Schedule a campaign for a time, or for that local time of each recipient',
  method: 'POST',
  paths: ['/public/campaigns/:id/schedule'],
  access: ACCESS,
  needsLaunch: true,
  params: byId,
  body: scheduleBody,
  status: 200,
  response: campaignResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params, body }) =>
    withCampaignName({ workspaceId: caller.workspaceId, id: params.id }, async (name) => {
      const { text, timezone, isRecipientTime } = body
      const planned = planStart({ text, timezone, isRecipientTime, nowMs: ctx.clock.now() })
      if (planned.kind === 'invalid') return invalid([{ path: planned.path, message: planned.message }])
      const refusal = body.force ? null : await refuseIfRed(ctx, caller, name)
      return refusal ?? validateAndSchedule(ctx, name, { planned, isForced: body.force })
    }),
})

/** A state change without a request body, and the fields it changes. */
interface PlainMove {
  readonly move: CampaignMove
  readonly path: string
  readonly summary: string
  readonly message: string
  readonly changes: (now: Date) => CampaignUpdates
  /** Further work in the same transaction. */
  readonly inTransaction?: (tx: Queryable, name: CampaignKey) => Promise<void>
}
const PLAIN_MOVES: readonly PlainMove[] = [
  {
    move: 'recall',
    path: 'recall',
    summary: 'Turn a scheduled campaign back into a draft',
    message: 'The campaign is a draft again.',
    changes: () => ({ is_open: false, scheduled_at: null, starts_at: null, local_time: null, send_mode: 'at_once' }),
  },
  {
    move: 'pause',
    path: 'pause',
    summary: 'Pause a campaign: none of its mail is sent until it is resumed',
    message: 'The campaign is paused.',
    changes: () => ({ reason: 'paused by hand' }),
  },
  {
    move: 'resume',
    path: 'resume',
    summary: 'Resume a paused campaign',
    message: 'The campaign is resumed.',
    changes: () => ({ reason: null }),
    // its queued mail was not claimed while it was paused and may be missing from the due schedule
    inTransaction: (tx, { id }) => rescheduleTargets(tx, [{ kind: 'campaign', subject: id }]),
  },
  {
    move: 'cancel',
    path: 'cancel',
    summary: 'Cancel a campaign: mail that was not sent yet is cancelled',
    message: 'The campaign is cancelled.',
    changes: (now) => ({ reason: 'cancelled by hand', ended_at: now }),
  },
]

const plainMoves = PLAIN_MOVES.map(({ move, path, summary, message: done, changes: sets, inTransaction: also }) =>
  route({
    name: `${move}-campaign`,
    summary,
    method: 'POST',
    paths: [`/public/campaigns/:id/${path}`],
    access: ACCESS,
    params: byId,
    status: 200,
    response: campaignResponse,
    errors: ['CONFLICT', 'NOT_FOUND'],
    handle: (ctx, { caller, params }) =>
      withCampaignName({ workspaceId: caller.workspaceId, id: params.id }, async (name) => {
        const result = await ctx.db.transaction(async (tx) => {
          const moved = await moveCampaign(tx, name, move, sets(new Date(ctx.clock.now())))
          if (moved.kind === 'moved') await also?.(tx, name)
          return moved
        })
        // a client without a response cancels again
        const isRepeated = move === 'cancel' && result.kind === 'wrong-state' && result.status === 'CANCELLED'
        return respondWithMove(ctx, name, isRepeated ? { kind: 'moved', status: result.status } : result, done)
      }),
  }),
)

const CONTENT_DELETED =
  'The campaign ended longer ago than the workspace stores messages: its content and its recipients were deleted. ' +
  'Create a new campaign.'

const retry = route({
  name: 'retry-campaign',
  summary: 'Send a campaign again to recipients whose mail failed or soft-bounced',
  method: 'POST',
  paths: ['/public/campaigns/:id/retry-failed'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: campaignResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params }) =>
    withCampaignName({ workspaceId: caller.workspaceId, id: params.id }, async (name) => {
      const result = await retryFailed(ctx.db, name)
      return result.kind === 'deleted'
        ? refuse('CONFLICT', CONTENT_DELETED)
        : respondWithMove(ctx, name, result, 'The campaign is being sent again to the recipients whose mail failed.')
    }),
})

const resend = route({
  name: 'resend-campaign',
  summary: 'Create a follow-up draft for recipients who received a campaign and did not open it',
  method: 'POST',
  paths: ['/public/campaigns/:id/resend'],
  access: ACCESS,
  params: byId,
  body: followUpBody,
  status: 201,
  response: campaignResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params, body }) =>
    withCampaignName({ workspaceId: caller.workspaceId, id: params.id }, async ({ workspaceId, id }) => {
      const result = await createFollowUp(
        ctx.db,
        { workspaceId, id },
        { name: body.name ?? null, subject: body.subject ?? null },
      )
      if (result.kind === 'not-found') return NO_CAMPAIGN
      if (result.kind === 'too-many')
        return refuse('CONFLICT', 'The workspace has its maximum of campaigns that have not ended. Delete a draft.')
      return result.kind === 'created'
        ? respondWithCampaign(ctx, result.campaign, 'Campaign created.')
        : refuse('CONFLICT', `The campaign is ${result.status}; it has no recipients yet. Start it first.`)
    }),
})

export const CAMPAIGN_SENDING_ROUTES: readonly AnyRoute[] = [start, schedule, ...plainMoves, retry, resend]

type HandlerResult = Promise<ApiResponse | Refusal>

function withCampaignName(name: CampaignKey, work: (name: CampaignKey) => HandlerResult): HandlerResult {
  return isUuid(name.id) ? work({ ...name, id: name.id.toLowerCase() }) : Promise.resolve(NO_CAMPAIGN)
}

const RECIPIENT_TIME_UNSUPPORTED: StartBlocker = {
  code: 'own-clocks',
  message: "a campaign with a test or a spread cannot be sent at the recipients' local time",
  mayForce: false,
}

async function validateAndSchedule(
  ctx: ApiContext,
  name: CampaignKey,
  { planned, isForced }: { readonly planned: PlannedStart; readonly isForced: boolean },
): HandlerResult {
  const result = await validateAndMove(
    ctx,
    name,
    async (tx, { subjectB, spreadMinutes }, { sendable, blockers: blocks }) => {
      if (planned.localTime !== null && (subjectB !== null || spreadMinutes !== null))
        return { kind: 'blocked', blockers: [RECIPIENT_TIME_UNSUPPORTED] }
      if (sendable === null) return { kind: 'blocked', blockers: blocks }
      return moveCampaign(tx, name, 'schedule', {
        is_open: true,
        is_forced: isForced,
        scheduled_at: planned.scheduledAt,
        starts_at: planned.startsAt,
        timezone: planned.timezone,
        local_time: planned.localTime,
        send_mode: planned.localTime === null ? 'at_once' : 'recipient_time',
      })
    },
  )
  if (result.kind === 'blocked') return refuseBlocked(result.blockers)
  return respondWithMove(ctx, name, result, 'The campaign is scheduled.')
}

async function respondWithMove(
  ctx: ApiContext,
  name: CampaignKey,
  result: CampaignMoveResult,
  message: string,
): HandlerResult {
  if (result.kind === 'not-found') return NO_CAMPAIGN
  if (result.kind === 'wrong-state')
    return refuse('CONFLICT', `The campaign is ${result.status}, which does not allow this. Get it to see its state.`)
  const campaign = await findCampaign(ctx.db, name.workspaceId, name.id)
  return campaign === null ? NO_CAMPAIGN : respondWithCampaign(ctx, campaign, message)
}

type Blocker = Pick<StartBlocker, 'code' | 'message' | 'mayForce'>

/** Names the findings, and whether `force` helps. */
function refuseBlocked(blockers: readonly Blocker[]): Refusal {
  const findings = blockers.map(({ code, message, mayForce }) => ({ code, message, may_force: mayForce }))
  const fatal = blockers.filter(({ mayForce }) => !mayForce).map(({ code }) => code)
  const next =
    fatal.length === 0
      ? 'Correct this, or send it anyway with {"force": true} in the request.'
      : `Correct this: ${fatal.join(', ')} cannot be forced.`
  const message = `The campaign cannot be sent: ${blockers.map((one) => one.message).join('; ')}. ${next}`
  return { ...refuse('CONFLICT', message), findings }
}

/** Refuses a campaign whose preview has red findings; the start itself checks only some of them. */
async function refuseIfRed(ctx: ApiContext, caller: Caller, name: CampaignKey): Promise<Refusal | null> {
  const campaign = await findCampaign(ctx.db, name.workspaceId, name.id)
  if (campaign === null) return NO_CAMPAIGN
  const findings = listRedFindings(await previewForCaller(ctx, caller, campaign))
  return findings.length === 0 ? null : refuseBlocked(findings)
}
