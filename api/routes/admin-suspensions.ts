/**
 * Suspensions: mail that the operator stopped, by recipient domain, site, workspace, campaign or all of it, until it is
 * resumed or until a set time, and everything of a workspace that abuses the service. Also the receivers that a reply
 * rule suspended; the operator may resume those early.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseSuspendable } from '#src/operator/filter.ts'
import { recordAction } from '#src/operator/action-log.ts'
import {
  listSuspensions,
  resume,
  suspend,
  SUSPENDABLE,
  SUSPENSION_SCOPES,
  type SuspensionTarget,
} from '#src/queue/suspensions.ts'
import { listReceiverSuspensions, resumeReceiver } from '#src/shaping/receiver-suspensions.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp, plainResponse } from '#api/http/response-schemas.ts'
import { time } from '#api/http/time-fields.ts'
import { countText } from '#src/platform/plural.ts'
import { operatorName } from './admin-queue.ts'

const nameField = z.string().min(1, 'is empty').max(255, 'is too long').optional()
const subjectFields = {
  domain: nameField.meta({ description: 'a recipient domain, or * for all mail' }),
  site: nameField,
  workspace: nameField.meta({ description: 'the id, key part or name of a workspace' }),
  campaign: nameField.meta({ description: 'the id of a campaign' }),
}
const suspensionSchema = z
  .object({
    kind: z.enum(SUSPENDABLE),
    subject: z.string(),
    scope: z.enum(SUSPENSION_SCOPES),
    reason: z.string(),
    created_at: timestamp,
    until: timestamp.nullable(),
  })
  .meta({ id: 'Suspension' })

const receiverSuspensionSchema = z
  .object({
    receiver: z.string().meta({ description: '`*`: every receiver, for that source' }),
    source: z.string().meta({
      description:
        'the egress source it applies to; `default`: mail without a source, whose address the system chooses; `*`: all',
    }),
    workspace_id: z.uuid().nullable().meta({ description: 'null: all workspaces' }),
    rule: z.string(),
    reply: z.string(),
    created_at: timestamp,
    until: timestamp,
  })
  .meta({ id: 'ReceiverSuspension' })

const list = route({
  name: 'admin-list-suspensions',
  summary: 'List the suspensions: those of the operator, and receivers that a reply rule suspended',
  method: 'GET',
  paths: ['/admin/suspensions'],
  access: 'operator',
  status: 200,
  response: envelope(
    z.object({ suspensions: z.array(suspensionSchema), receivers: z.array(receiverSuspensionSchema) }),
  ),
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
        message: `${countText(suspensions.length + receivers.length, 'suspension')}.`,
        data: { suspensions, receivers },
      },
    }
  },
})

const suspendRoute = route({
  name: 'admin-suspend',
  summary: 'Suspend mail: it waits without attempts',
  description:
    'Give one of `domain`, `site`, `workspace`, `campaign`. An existing suspension gets the new scope, reason and ' +
    'time. Mail that a process is already sending is still sent. A suspension of a workspace covers everything: its ' +
    'keys get 403, and its links, pages and hosted mail are switched off; an unsubscribe still works. With `scope: ' +
    'mail` only its mail waits.',
  method: 'POST',
  paths: ['/admin/suspensions'],
  access: 'operator',
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  body: z.object({
    ...subjectFields,
    reason: z.string().trim().max(500, 'is too long').default('suspended by the operator'),
    until: time.nullish(),
    scope: z.enum(SUSPENSION_SCOPES).optional().meta({
      description: '`all`, the default for a workspace: also its keys, links, pages and hosted mail; `mail`: its mail',
    }),
  }),
  handle: async (ctx, { body: { reason, until = null, scope: wanted, ...given }, headers, address, person }) => {
    if (until !== null && until.getTime() <= ctx.clock.now())
      return invalid([{ path: 'until', message: 'must be in the future' }])
    const read = await parseSuspendable(given, ctx.db)
    if (!read.ok) return invalid(read.details)
    const isWorkspace = read.stopped.kind === 'workspace'
    if (wanted === 'all' && !isWorkspace) return invalid([{ path: 'scope', message: 'all is for a workspace only' }])
    const scope = wanted ?? (isWorkspace ? 'all' : 'mail')
    const what = scope === 'all' ? 'Everything' : 'Mail'
    await suspend(ctx, { ...read.stopped, scope }, reason, until)
    await recordAction(
      ctx,
      { verb: 'suspend', subject: actionSubject(read.stopped), reason, by: operatorName({ headers, address, person }) },
      'done',
    )
    return {
      body: {
        success: true,
        message: `${what} of the ${read.stopped.kind} ${read.stopped.subject} is suspended.`,
      },
    }
  },
})

const resumeFields = z.object({
  ...subjectFields,
  receiver: nameField.meta({ description: 'a receiver that a reply rule suspended, as listed' }),
})

const resumeRoute = route({
  name: 'admin-resume',
  summary: 'Resume suspended mail',
  description: 'Name the suspension in the query or in the body.',
  method: 'DELETE',
  paths: ['/admin/suspensions'],
  access: 'operator',
  query: resumeFields,
  body: resumeFields.default({}),
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { query, body, headers, address, person }) => {
    const { receiver, ...given } = { ...body, ...query }
    if (receiver !== undefined && Object.keys(given).length === 0)
      return resumeMailToReceiver(ctx, receiver, operatorName({ headers, address, person }))
    const read = await parseSuspendable(given, ctx.db)
    if (!read.ok) return invalid(read.details)
    if (!(await resume(ctx, read.stopped)))
      return refuse('NOT_FOUND', 'There is no such suspension. List them with admin-list-suspensions.')
    await recordAction(
      ctx,
      {
        verb: 'resume',
        subject: actionSubject(read.stopped),
        reason: '',
        by: operatorName({ headers, address, person }),
      },
      'done',
    )
    return {
      body: { success: true, message: `Mail of the ${read.stopped.kind} ${read.stopped.subject} is resumed.` },
    }
  },
})

async function resumeMailToReceiver(ctx: ApiContext, receiver: string, by: string): Promise<ApiResponse | Refusal> {
  if ((await resumeReceiver(ctx, receiver)) === 0)
    return refuse('NOT_FOUND', 'There is no such suspension. List them with admin-list-suspensions.')
  await recordAction(ctx, { verb: 'resume', subject: { receiver: receiver }, reason: '', by }, 'done')
  return { body: { success: true, message: `Mail to ${receiver} is resumed.` } }
}

function actionSubject({ kind, subject: name }: SuspensionTarget): Record<string, string> {
  return { [kind]: name }
}

export const ADMIN_SUSPENSION_ROUTES: readonly AnyRoute[] = [list, suspendRoute, resumeRoute]
