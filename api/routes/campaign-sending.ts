/**
 * Campaigns on their way: begun, set to a time, paused, gone on with, cancelled, sent again to those whose mail failed, and a further draft
 * for those who did not open. Each is one guarded move: a campaign that is elsewhere stays there, and the answer says where it is.
 */
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import { aliasOf, filled, line } from '#src/campaigns/content.ts'
import { followUp } from '#src/campaigns/follow-up.ts'
import {
  moveCampaign,
  type CampaignMove,
  type CampaignName,
  type CampaignSets,
  type MoveResult,
} from '#src/campaigns/transitions.ts'
import { retryFailed } from '#src/campaigns/retry.ts'
import { planStart, type PlannedStart } from '#src/campaigns/schedule.ts'
import { judgeAndMove, startCampaign, type Block } from '#src/campaigns/start.ts'
import { findCampaign } from '#src/campaigns/store.ts'
import type { Queryable } from '#src/stores/db.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { letGoAgain } from '#src/queue/suspensions.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { listRed, look } from './campaign-preview.ts'
import { ACCESS, byId, NO_CAMPAIGN, show, shown } from './campaign-view.ts'

const MAX_ZONE = 64
const force = z.boolean().default(false).meta({ description: 'although the preview is red' })
const startBody = z.object({ force }).prefault({})
const time = z.string().max(40).optional()
const isOnTheirClocks = z.boolean().optional()
const scheduleBody = z
  .object({
    scheduled_at: time.meta({
      description: '`YYYY-MM-DD_HH:MM:SS` or ISO 8601; without an offset it is read in `timezone`',
    }),
    scheduledAt: time.meta(aliasOf('scheduled_at')),
    scheduled_for: time.meta(aliasOf('scheduled_at')),
    timezone: line(MAX_ZONE).default('UTC'),
    recipient_time: isOnTheirClocks.meta({
      description: 'at this time where each recipient is; `timezone` is for those who name none',
    }),
    recipientTime: isOnTheirClocks.meta(aliasOf('recipient_time')),
    force,
  })
  .transform((given, sink) => {
    const text = given.scheduled_at ?? given.scheduledAt ?? given.scheduled_for
    if (text === undefined) sink.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'is required' })
    const { timezone, recipient_time: isTheirs = given.recipientTime ?? false } = given
    return { text: text ?? '', timezone, isRecipientTime: isTheirs, force: given.force }
  })
  .meta({ required: ['scheduled_at'] })
const followBody = z.object({ name: filled(255).nullish(), subject: filled(998).nullish() }).prefault({})

const start = route({
  name: 'start-campaign',
  summary: 'Send a campaign now',
  method: 'POST',
  paths: ['/public/campaigns/:id/start'],
  access: ACCESS,
  params: byId,
  body: startBody,
  status: 200,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params, body }) =>
    named(ctx, { workspaceId: caller.workspaceId, id: params.id }, async (name) => {
      const red = body.force ? null : await findRed(ctx, caller, name)
      if (red !== null) return red
      const result = await startCampaign(ctx, name)
      return result.kind === 'blocked' ? blocked(result.blocks) : told(ctx, name, result, 'The campaign is being sent.')
    }),
})

const schedule = route({
  name: 'schedule-campaign',
  summary: 'Send a campaign at a time, or at that time where each recipient is',
  method: 'POST',
  paths: ['/public/campaigns/:id/schedule'],
  access: ACCESS,
  params: byId,
  body: scheduleBody,
  status: 200,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params, body }) =>
    named(ctx, { workspaceId: caller.workspaceId, id: params.id }, async (name) => {
      const { text, timezone, isRecipientTime } = body
      const planned = planStart({ text, timezone, isRecipientTime, nowMs: ctx.clock.now() })
      if (planned.kind === 'wrong') return invalid([{ path: planned.path, message: planned.message }])
      const red = body.force ? null : await findRed(ctx, caller, name)
      return red ?? judgeAndSchedule(ctx, name, { planned, isForced: body.force })
    }),
})

/** Moves that need nothing said, and what changes with them. */
interface PlainMove {
  readonly move: CampaignMove
  readonly path: string
  readonly summary: string
  readonly done: string
  readonly sets: (now: Date) => CampaignSets
  /** With it, in the same transaction. */
  readonly also?: (tx: Queryable, name: CampaignName) => Promise<void>
}
const PLAIN: readonly PlainMove[] = [
  {
    move: 'recall',
    path: 'recall',
    summary: 'Make a draft of a scheduled campaign again',
    done: 'The campaign is a draft again.',
    sets: () => ({ is_open: false, scheduled_at: null, starts_at: null, local_time: null, send_mode: 'at_once' }),
  },
  {
    move: 'pause',
    path: 'pause',
    summary: 'Pause a campaign: nothing more of it leaves until it is resumed',
    done: 'The campaign is paused.',
    sets: () => ({ reason: 'paused by hand' }),
  },
  {
    move: 'resume',
    path: 'resume',
    summary: 'Go on with a paused campaign',
    done: 'The campaign goes on.',
    sets: () => ({ reason: null }),
    // what waits in the queue was not given to anybody meanwhile, and may not be on the schedule any more
    also: (tx, { id }) => letGoAgain(tx, [{ kind: 'campaign', subject: id }]),
  },
  {
    move: 'cancel',
    path: 'cancel',
    summary: 'Cancel a campaign: what has not left is taken back',
    done: 'The campaign is cancelled.',
    sets: (now) => ({ reason: 'cancelled by hand', ended_at: now }),
  },
]

const plainMoves = PLAIN.map(({ move, path, summary, done, sets, also }) =>
  route({
    name: `${move}-campaign`,
    summary,
    method: 'POST',
    paths: [`/public/campaigns/:id/${path}`],
    access: ACCESS,
    params: byId,
    status: 200,
    answer: shown,
    errors: ['CONFLICT', 'NOT_FOUND'],
    handle: (ctx, { caller, params }) =>
      named(ctx, { workspaceId: caller.workspaceId, id: params.id }, async (name) => {
        const result = await ctx.db.transaction(async (tx) => {
          const moved = await moveCampaign(tx, name, move, sets(new Date(ctx.clock.now())))
          if (moved.kind === 'moved') await also?.(tx, name)
          return moved
        })
        return told(ctx, name, result, done)
      }),
  }),
)

const retry = route({
  name: 'retry-campaign',
  summary: 'Send again to those whose mail failed, or came back softly',
  method: 'POST',
  paths: ['/public/campaigns/:id/retry-failed'],
  access: ACCESS,
  params: byId,
  status: 200,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params }) =>
    named(ctx, { workspaceId: caller.workspaceId, id: params.id }, async (name) =>
      told(ctx, name, await retryFailed(ctx.db, name), 'The campaign is sent again to those whose mail failed.'),
    ),
})

const resend = route({
  name: 'resend-campaign',
  summary: 'Make a draft that goes to those who got a campaign and did not open it',
  method: 'POST',
  paths: ['/public/campaigns/:id/resend'],
  access: ACCESS,
  params: byId,
  body: followBody,
  status: 201,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: (ctx, { caller, params, body }) =>
    named(ctx, { workspaceId: caller.workspaceId, id: params.id }, async ({ workspaceId, id }) => {
      const result = await followUp(
        ctx.db,
        { workspaceId, id },
        { name: body.name ?? null, subject: body.subject ?? null },
      )
      if (result.kind === 'not-found') return NO_CAMPAIGN
      if (result.kind === 'too-many') return refuse('CONFLICT', 'The workspace has as many campaigns as it may.')
      return result.kind === 'created'
        ? show(ctx, result.campaign, 'Campaign created.')
        : refuse('CONFLICT', `The campaign is ${result.status}; nobody has got it.`)
    }),
})

export const CAMPAIGN_SENDING_ROUTES: readonly AnyRoute[] = [start, schedule, ...plainMoves, retry, resend]

type Handled = Promise<Answer | Refusal>

function named(_ctx: ApiContext, name: CampaignName, work: (name: CampaignName) => Handled): Handled {
  return isUuid(name.id) ? work({ ...name, id: name.id.toLowerCase() }) : Promise.resolve(NO_CAMPAIGN)
}

const NO_OWN_CLOCKS: Block = {
  code: 'own-clocks',
  message: "one with a test, or that is spread over a time, cannot go by the recipients' own clocks",
  mayForce: false,
}

async function judgeAndSchedule(
  ctx: ApiContext,
  name: CampaignName,
  { planned, isForced }: { readonly planned: PlannedStart; readonly isForced: boolean },
): Handled {
  const result = await judgeAndMove(ctx, name, async (tx, { subjectB, spreadMinutes }, { sendable, blocks }) => {
    if (planned.localTime !== null && (subjectB !== null || spreadMinutes !== null))
      return { kind: 'blocked', blocks: [NO_OWN_CLOCKS] }
    if (sendable === null) return { kind: 'blocked', blocks }
    return moveCampaign(tx, name, 'schedule', {
      is_open: true,
      is_forced: isForced,
      scheduled_at: planned.scheduledAt,
      starts_at: planned.startsAt,
      timezone: planned.timezone,
      local_time: planned.localTime,
      send_mode: planned.localTime === null ? 'at_once' : 'recipient_time',
    })
  })
  if (result.kind === 'blocked') return blocked(result.blocks)
  return told(ctx, name, result, 'The campaign is scheduled.')
}

async function told(ctx: ApiContext, name: CampaignName, result: MoveResult, message: string): Handled {
  if (result.kind === 'not-found') return NO_CAMPAIGN
  if (result.kind === 'elsewhere') return refuse('CONFLICT', `The campaign is ${result.status}.`)
  const campaign = await findCampaign(ctx.db, name.workspaceId, name.id)
  return campaign === null ? NO_CAMPAIGN : show(ctx, campaign, message)
}

function blocked(blocks: readonly Pick<Block, 'message'>[]): Refusal {
  return refuse('CONFLICT', `The campaign cannot be sent: ${blocks.map(({ message }) => message).join('; ')}.`)
}

/** What the preview shows in red, and more of it than the start itself would refuse. */
async function findRed(ctx: ApiContext, caller: Caller, name: CampaignName): Promise<Refusal | null> {
  const campaign = await findCampaign(ctx.db, name.workspaceId, name.id)
  if (campaign === null) return NO_CAMPAIGN
  const red = listRed(await look(ctx, caller, campaign))
  return red.length === 0 ? null : blocked(red)
}
