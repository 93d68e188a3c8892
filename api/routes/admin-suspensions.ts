/**
 * What the operator has stopped: a recipient domain or all mail, a site, a workspace, a campaign; until it is resumed or for a time. And
 * which receivers a rule about their replies has stopped, which the operator may let go before their time.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { readStopped } from '#src/operator/filter.ts'
import { recordAction } from '#src/operator/audit-log.ts'
import { listSuspensions, resume, suspend, SUSPENDABLE, type Stopped } from '#src/queue/suspensions.ts'
import { listReceiverSuspensions, resumeReceiver } from '#src/shaping/receiver-suspensions.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, plainAnswer } from '#api/http/answer-shapes.ts'
import { time } from '#api/http/time-fields.ts'
import { operatorName } from './admin-queue.ts'

const text = z.string().min(1, 'is empty').max(255, 'is too long').optional()
const subject = {
  domain: text.meta({ description: 'a recipient domain, or * for all mail' }),
  site: text,
  workspace: text.meta({ description: 'its id, key part or name' }),
  campaign: text.meta({ description: 'its id' }),
}
const shape = z
  .object({
    kind: z.enum(SUSPENDABLE),
    subject: z.string(),
    reason: z.string(),
    created_at: moment,
    until: moment.nullable(),
  })
  .meta({ id: 'Suspension' })

const receiver = z
  .object({
    receiver: z.string().meta({ description: '`*`: every receiver, for that source' }),
    source: z.string().meta({
      description: 'our egress source that it holds for; `default`: the system’s choice of address; `*`: all',
    }),
    workspace_id: z.uuid().nullable().meta({ description: 'null: all' }),
    rule: z.string(),
    reply: z.string(),
    created_at: moment,
    until: moment,
  })
  .meta({ id: 'ReceiverSuspension' })

const list = route({
  name: 'admin-list-suspensions',
  summary: 'What is stopped: by the operator, and receivers by the rules about their replies',
  method: 'GET',
  paths: ['/admin/suspensions'],
  access: 'operator',
  status: 200,
  answer: enveloped(z.object({ suspensions: z.array(shape), receivers: z.array(receiver) })),
  errors: [],
  handle: async (ctx) => {
    const found = await listSuspensions(ctx.db)
    const suspensions = found.map(({ createdAt, until, ...one }) => ({
      ...one,
      created_at: createdAt.toISOString(),
      until: until?.toISOString() ?? null,
    }))
    const receivers = (await listReceiverSuspensions(ctx.db, new Date(ctx.clock.now()))).map(
      ({ pace, source, workspaceId, rule, reply, createdAt, until }) => ({
        receiver: pace,
        source,
        workspace_id: workspaceId,
        rule,
        reply,
        created_at: createdAt.toISOString(),
        until: until.toISOString(),
      }),
    )
    return {
      body: {
        success: true,
        message: `${suspensions.length + receivers.length} suspensions.`,
        data: { suspensions, receivers },
      },
    }
  },
})

const stop = route({
  name: 'admin-suspend',
  summary: 'Stop mail: it waits, and nothing is tried or counted',
  description:
    'Give one of `domain`, `site`, `workspace`, `campaign`. What is stopped already gets this reason and time. Mail that a ' +
    'process has taken up already still goes out.',
  method: 'POST',
  paths: ['/admin/suspensions'],
  access: 'operator',
  status: 200,
  answer: plainAnswer,
  errors: ['VALIDATION_ERROR'],
  body: z.object({
    ...subject,
    reason: z.string().trim().max(500, 'is too long').default('suspended by the operator'),
    until: time.nullish(),
  }),
  handle: async (ctx, { body: { reason, until = null, ...given }, headers, address }) => {
    if (until !== null && until.getTime() <= ctx.clock.now())
      return invalid([{ path: 'until', message: 'must be in the future' }])
    const read = await readStopped(given, ctx.db)
    if (!read.ok) return invalid(read.details)
    await suspend(ctx, read.stopped, reason, until)
    await recordAction(
      ctx,
      { verb: 'suspend', subject: named(read.stopped), reason, by: operatorName(headers, address) },
      'done',
    )
    return { body: { success: true, message: `Mail of the ${read.stopped.kind} ${read.stopped.subject} waits.` } }
  },
})

const toLetGo = z.object({
  ...subject,
  receiver: text.meta({ description: 'as listed: one that a rule about replies has stopped' }),
})

const letGo = route({
  name: 'admin-resume',
  summary: 'Let mail go again that was stopped',
  description: 'What is meant stands in the query or in the body.',
  method: 'DELETE',
  paths: ['/admin/suspensions'],
  access: 'operator',
  query: toLetGo,
  body: toLetGo.default({}),
  status: 200,
  answer: plainAnswer,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { query, body, headers, address }) => {
    const { receiver: pace, ...given } = { ...body, ...query }
    if (pace !== undefined && Object.keys(given).length === 0)
      return letReceiverGo(ctx, pace, operatorName(headers, address))
    const read = await readStopped(given, ctx.db)
    if (!read.ok) return invalid(read.details)
    if (!(await resume(ctx, read.stopped))) return refuse('NOT_FOUND', 'It is not stopped.')
    await recordAction(
      ctx,
      { verb: 'resume', subject: named(read.stopped), reason: '', by: operatorName(headers, address) },
      'done',
    )
    return {
      body: { success: true, message: `Mail of the ${read.stopped.kind} ${read.stopped.subject} goes out again.` },
    }
  },
})

async function letReceiverGo(ctx: ApiContext, pace: string, by: string): Promise<Answer | Refusal> {
  if ((await resumeReceiver(ctx, pace)) === 0) return refuse('NOT_FOUND', 'It is not stopped.')
  await recordAction(ctx, { verb: 'resume', subject: { receiver: pace }, reason: '', by }, 'done')
  return { body: { success: true, message: `Mail to ${pace} goes out again.` } }
}

function named({ kind, subject: what }: Stopped): Record<string, string> {
  return { [kind]: what }
}

export const ADMIN_SUSPENSION_ROUTES: readonly AnyRoute[] = [list, stop, letGo]
