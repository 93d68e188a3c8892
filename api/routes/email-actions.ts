/**
 * What a workspace may do with a message of its own: retry it now, cancel it, send it again. Retrying does not pass
 * over limits: throttles, suspensions and the suppression list apply to the attempt as to any other. It is limited, so
 * that nobody replaces the retry schedule by a loop. Mail that is being sent is not changed.
 */
import { z } from 'zod'
import { changeOwnMessage, type OwnerChange, type OwnerChangeResult } from '#src/messages/change-waiting.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, messageIdOf } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { prepareResend } from '#api/sending/resend.ts'
import { queuedResponse } from '#api/sending/response-schemas.ts'
import { acceptPrepared, readClaim } from '#api/sending/send.ts'
import { countText } from '#src/platform/plural.ts'
import { emailParams, NO_EMAIL_HERE } from './email-content.ts'
import { respondToSend, SENDING_ERRORS } from './send.ts'

const ACCESS = { admin: 'emails:manage' } as const
const RETRY_LIMIT = { max: 10, windowMs: 10 * 60 * 1000 }

const changedResponse = envelope(
  z.object({
    email_id: z.string(),
    changed: z.int().min(0).meta({ description: 'recipients that changed' }),
    unchanged: z.int().min(0).meta({ description: 'recipients that were sent, ended, or are being sent' }),
  }),
).meta({ id: 'ChangedEmail' })

const retry = route({
  name: 'retry-email',
  summary: 'Make the waiting recipients of a message due now',
  description:
    'Queued and deferred recipients are tried as soon as limits and suspensions permit. Scheduled mail keeps its ' +
    `time. At most ${RETRY_LIMIT.max} times in 10 minutes for one message.`,
  method: 'POST',
  paths: ['/public/emails/:id/retry'],
  access: ACCESS,
  params: emailParams,
  status: 200,
  response: changedResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  handle: async (ctx, { caller, params }) => {
    const id = messageIdOf(params.id)
    if (id === null) return NO_EMAIL_HERE
    const wait = await ctx.attempts.consume(`retry-email ${caller.workspaceId} ${id}`, RETRY_LIMIT)
    if (wait !== null)
      return rateLimited(
        'client_rate',
        `This email was retried too often. Wait ${wait} s; it is also retried by itself.`,
        wait,
      )
    return change(ctx, 'retry', { workspaceId: caller.workspaceId, messageId: id })
  },
})

const cancel = route({
  name: 'cancel-email',
  summary: 'Cancel a message for the recipients that it was not sent to yet',
  description: 'Also of scheduled mail. Each cancelled recipient has an `email.cancelled` event.',
  method: 'POST',
  paths: ['/public/emails/:id/cancel'],
  access: ACCESS,
  params: emailParams,
  status: 200,
  response: changedResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const id = messageIdOf(params.id)
    return id === null ? NO_EMAIL_HERE : change(ctx, 'cancel', { workspaceId: caller.workspaceId, messageId: id })
  },
})

const NOTHING: Readonly<Record<OwnerChange, Refusal>> = {
  retry: refuse('CONFLICT', 'No recipient of this email waits for an attempt. Get it to see the state of each.'),
  cancel: refuse('CONFLICT', 'No recipient of this email waits to be sent. Get it to see the state of each.'),
}
const DONE: Readonly<Record<OwnerChange, (result: OwnerChangeResult) => string>> = {
  retry: ({ changed }) => `${countText(changed, 'recipient is', 'recipients are')} due now.`,
  cancel: ({ changed }) => `${countText(changed, 'recipient was', 'recipients were')} cancelled.`,
}

async function change(
  ctx: ApiContext,
  verb: OwnerChange,
  named: { readonly workspaceId: string; readonly messageId: string },
): Promise<ApiResponse | Refusal> {
  const result = await changeOwnMessage(ctx, verb, named)
  if (result === null) return NO_EMAIL_HERE
  if (result.changed === 0) return NOTHING[verb]
  const data = { email_id: `em_${hexOf(named.messageId)}`, ...result }
  return { body: { success: true, message: DONE[verb](result), data } }
}

const resendBody = z
  .object({
    to: z
      .array(z.string().max(320, 'is too long'))
      .min(1, 'is empty')
      .max(1000, 'is too long')
      .optional()
      .meta({ description: 'only these of its recipients; by default all of them' }),
  })
  .default({})
  .meta({ examples: [{ to: ['anna@example.org'] }] })

const resend = route({
  name: 'resend-email',
  summary: 'Send a message again, as a new message with the same content',
  description:
    'To all of its recipients, or some of them. It counts against the quota; suppressed addresses get nothing. The ' +
    'domain or account it was sent from must still be able to send. Mail of campaigns and automations is rendered ' +
    'for one contact and cannot be sent again: use retry-campaign.',
  method: 'POST',
  paths: ['/public/emails/:id/resend'],
  access: ACCESS,
  params: emailParams,
  body: resendBody,
  status: 200,
  response: queuedResponse,
  countsQuota: true,
  errors: [...SENDING_ERRORS, 'NOT_FOUND', 'CONFLICT', 'VALIDATION_ERROR'],
  handle: async (ctx, { caller, params, body, headers }) => {
    const id = messageIdOf(params.id)
    if (id === null) return NO_EMAIL_HERE
    const read = readClaim(headers, 'resend', { id, ...body })
    if (!read.ok) return read.refusal
    const prepared = await prepareResend(ctx, caller, { messageId: id, to: body.to ?? null })
    if (prepared === null) return NO_EMAIL_HERE
    if (isRefusal(prepared) && read.claim === null) return prepared
    return respondToSend(await acceptPrepared(ctx, caller, prepared, read.claim))
  },
})

export const EMAIL_ACTION_ROUTES: readonly AnyRoute[] = [retry, cancel, resend]
