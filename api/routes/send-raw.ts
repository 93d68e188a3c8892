/**
 * POST /send-email/raw: a complete message (RFC 5322), made by the client, is sent octet for octet. It is accepted as
 * by SMTP submission, with the responses, the tiers and the Idempotency-Key of the other sends.
 */
import { route } from '#api/http/route.ts'
import { isRefusal } from '#api/http/response.ts'
import { prepareRaw, readRawSend } from '#api/sending/raw.ts'
import { rawBody, rawQuery } from '#api/sending/raw-body.ts'
import { rawResponse } from '#api/sending/response-schemas.ts'
import { acceptPrepared, idempotencyKeyOf } from '#api/sending/send.ts'
import { respondToSend, SENDING_ERRORS, sendingPaths } from './send.ts'

export const sendRaw = route({
  name: 'send-raw',
  summary: 'Send a complete message (RFC 5322), now or at a scheduled time',
  description:
    'The message is sent octet for octet, without Bcc and with the missing ones of Date and Message-ID, and signed. ' +
    'Send it as `message/rfc822` with the envelope in the query, or in base64 as JSON.',
  method: 'POST',
  paths: sendingPaths('raw'),
  access: 'regular',
  query: rawQuery,
  body: rawBody,
  accepts: ['json', 'message'],
  status: 200,
  response: rawResponse,
  countsQuota: true,
  errors: [...SENDING_ERRORS, 'PLAN_REQUIRED'],
  handle: async (ctx, { caller, body, query, headers }) => {
    const found = idempotencyKeyOf(headers['idempotency-key'])
    if (!found.ok) return found.refusal
    const send = readRawSend(ctx, body, query)
    if (isRefusal(send)) return send
    const prepared = await prepareRaw(ctx, caller, send)
    if (isRefusal(prepared)) return prepared
    const key = found.key ?? send.message.options.idempotencyKey
    const claim = key === null ? null : { key, bodyHash: prepared.bodyHash }
    return respondToSend(await acceptPrepared(ctx, caller, prepared.submission, claim))
  },
})
