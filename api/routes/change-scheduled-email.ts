/** PATCH /send-email/schedule/:id: changes a message that waits for its time. */
import { bindSender } from '#api/sending/session-sender.ts'
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import { changeScheduled, type ChangeRefusal, type ChangeScheduledResult } from '#src/messages/change-scheduled.ts'
import { findScheduled, type ScheduledView } from '#src/messages/scheduled-messages.ts'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { messageIdOf } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import { route } from '#api/http/route.ts'
import { changeBody, type ChangeBody } from '#api/sending/change-body.ts'
import { isEmptyChange, prepareChange } from '#api/sending/change.ts'
import { changedResponse } from '#api/sending/response-schemas.ts'
import { presentScheduled } from './scheduled-emails.ts'
import { sendingPaths } from './send.ts'

export const changeScheduledEmail = route({
  name: 'change-scheduled',
  summary: 'Change a scheduled message, until 30 seconds before its time',
  description:
    'Every field of a send. Omitted fields and null stay; an empty list, object or text removes. `to`, `cc` and ' +
    '`bcc` replace their list: a recipient that is left out is cancelled. All of it is changed, or nothing.',
  method: 'PATCH',
  paths: sendingPaths('schedule/:id', 'scheduled/:id'),
  access: 'regular',
  needsLaunch: true,
  params: z.object({ id: z.string() }),
  body: changeBody,
  status: 200,
  response: changedResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'INVALID_TEMPLATE', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller: given, params, body }) => {
    const { workspaceId } = given
    const id = messageIdOf(params.id)
    const present = id === null ? null : await findScheduled(ctx.db, workspaceId, id)
    if (present === null) return REFUSALS['not-found']
    const caller = await bindSender(ctx, given, body.from ?? present.from)
    if (isRefusal(caller)) return caller
    const result = await change(ctx, { caller, body, present })
    if (typeof result !== 'string') return result
    if (result !== 'changed') return REFUSALS[result]
    const changed = await findScheduled(ctx.db, workspaceId, present.id)
    if (changed === null) return REFUSALS['gone']
    return { body: { success: true, message: 'Scheduled email changed.', data: presentScheduled(changed) } }
  },
})

async function change(
  ctx: ApiContext,
  request: { readonly caller: Caller; readonly body: ChangeBody; readonly present: ScheduledView },
): Promise<ChangeScheduledResult | Refusal> {
  const { workspaceId } = request.caller
  const downloads = ctx.downloads.open(workspaceId)
  try {
    const prepared = await prepareChange(ctx, { ...request, downloads })
    if (isRefusal(prepared)) return prepared
    if (isEmptyChange(prepared)) return NOTHING
    return await changeScheduled(ctx, { workspaceId, id: request.present.id }, prepared)
  } finally {
    downloads.release()
  }
}

const NOTHING = invalid([{ path: '', message: 'has nothing to change: give scheduled_at, subject or another field' }])
const HOUR_SECONDS = 3600
const REFUSALS: Readonly<Record<ChangeRefusal, Refusal>> = {
  'not-found': refuse('NOT_FOUND', 'There is no such scheduled email. List them with list-scheduled.'),
  gone: refuse(
    'CONFLICT',
    'The email can no longer be changed: it is due within 30 s, was cancelled, or has been sent. Get it.',
  ),
  'changed-meanwhile': refuse('CONFLICT', 'Another request changed its sender at the same moment. Try again.'),
  'is-complete': refuse(
    'CONFLICT',
    'The email was submitted as a complete message: only its time, priority, tags, metadata, tracking and expiry can ' +
      'be changed. Cancel it and send it anew.',
  ),
  expires: invalid([{ path: 'scheduled_at', message: 'must be before expires_at of the message' }]),
  'no-recipient': invalid([{ path: 'to', message: 'is required' }]),
  'too-many-recipients': invalid([{ path: 'to', message: 'to, cc and bcc together have too many recipients' }]),
  'too-large': refuse(
    'PAYLOAD_TOO_LARGE',
    'With this change, the message is too large. Send links instead of large files.',
  ),
  'over-quota': rateLimited(
    'quota',
    'The monthly quota of the plan does not allow the added recipients. Nothing was changed.',
    HOUR_SECONDS,
  ),
}
