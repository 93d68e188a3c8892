/**
 * The body of a raw send: a complete message in base64 with its envelope and options as JSON fields, or the octets of
 * the message alone (message/rfc822). The message is checked and its header parsed here, so that for a large body this
 * happens in the thread for large bodies. Only the octets are passed on, never a copy of the message's body.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Mailbox } from '#src/mail/address.ts'
import { isTimeZone } from '#src/platform/time-input.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { validateOctets } from '#src/submission/message-octets.ts'
import { SubmissionError } from '#src/submission/submission-error.ts'
import { parseSubmittedMessage, type SubmittedMessage } from '#src/submission/submitted-message.ts'
import { decodeBase64 } from './attachments.ts'
import { optionFields, type SendOptions } from './body.ts'
import { mailbox, mailboxList } from './mailboxes.ts'
import { optionalTier } from './tier.ts'

/** The envelope and the times, which the body or the query of a request gives. */
export interface RawEnvelope {
  readonly from: Mailbox | null
  /** Empty: those that the header names. */
  readonly to: readonly Mailbox[]
  /** Null: that of the header, or the default. */
  readonly tier: Tier | null
  /** As given; `timezone` decides which instant it is. */
  readonly scheduledAt: string | null
  readonly timezone: string | null
}

export interface RawSendBody {
  readonly message: RawMessage
  readonly envelope: RawEnvelope
  readonly options: SendOptions
}

/** A parsed message without its body, which is the octets from `bodyAt` on. */
export interface RawMessage extends Omit<SubmittedMessage, 'body'> {
  readonly octets: Buffer
  readonly bodyAt: number
  /** SHA-256 of the body. */
  readonly bodyHash: Buffer
}

const time = z.string().nullish()
const envelopeFields = {
  from: mailbox.meta({
    description: 'the envelope sender, which gets delivery reports by mail if the key may use it as From',
  }),
  to: mailboxList.meta({ description: 'the envelope recipients; by default those in To, Cc and Bcc' }),
  tier: optionalTier.meta({ description: 'by default the one in X-Priority-Tier, or normal' }),
  priority: optionalTier.meta({ description: 'alias of tier' }),
  scheduled_at: time.meta({ description: '`YYYY-MM-DD_HH:MM:SS` or ISO 8601; needs the plan LAUNCH or higher' }),
  scheduled_for: time.meta({ description: 'alias of scheduled_at' }),
  timezone: z
    .string()
    .nullish()
    .refine((zone) => !zone || isTimeZone(zone), 'must be an IANA time zone such as Europe/Berlin')
    .meta({ description: 'of a time without an offset; by default UTC' }),
}
const envelope = z.object(envelopeFields)

/** The same fields in the query, for a message without JSON around it. */
export const rawQuery = envelope.transform(readEnvelope)

const EXAMPLE = {
  to: ['anna@example.org'],
  raw: Buffer.from(
    'From: Shop <shop@example.com>\r\nTo: anna@example.org\r\nSubject: Your order\r\n\r\nIt is on its way.\r\n',
  ).toString('base64'),
  tags: ['order'],
}

const fields = z.object({
  raw: z.unknown().meta({
    type: 'string',
    contentEncoding: 'base64',
    description: 'the complete message (RFC 5322), with lines that end in CRLF, in base64',
  }),
  ...envelopeFields,
  ...optionFields,
})

export const rawBody = fields
  .transform((given, sink): RawSendBody => {
    const message = readMessage(given.raw, sink)
    if (message === null) return z.NEVER
    const { tags, metadata, track_opens: trackOpens, track_clicks: trackClicks, expires_at: expiresAt } = given
    return {
      message,
      envelope: readEnvelope(given),
      options: {
        tags: tags ?? [],
        metadata: metadata ?? null,
        trackOpens: trackOpens ?? null,
        trackClicks: trackClicks ?? null,
        expiresAt,
      },
    }
  })
  .meta({ id: 'RawMessage', required: ['raw'], examples: [EXAMPLE] })

function readEnvelope(given: z.output<typeof envelope>): RawEnvelope {
  return {
    from: given.from,
    to: given.to,
    tier: given.tier ?? given.priority,
    scheduledAt: given.scheduled_at || given.scheduled_for || null,
    timezone: given.timezone || null,
  }
}

function readMessage(raw: unknown, sink: z.core.$RefinementCtx): RawMessage | null {
  const octets = Buffer.isBuffer(raw) ? raw : typeof raw === 'string' ? decodeBase64(raw) : null
  const read = octets === null ? describeMissing(raw) : parse(octets)
  if (typeof read !== 'string') return read
  sink.addIssue({ code: 'custom', path: ['raw'], message: read })
  return null
}

function describeMissing(raw: unknown): string {
  if (raw === undefined || raw === null) return 'is required: the complete message in base64'
  return typeof raw === 'string' ? 'is not valid base64' : 'must be a string: the complete message in base64'
}

/** The message, or why it is refused. */
function parse(octets: Buffer): RawMessage | string {
  if (octets.length === 0) return 'is empty: it must be a complete message'
  const refusal = validateOctets(octets)
  if (refusal !== null) return refusal.message
  try {
    const { body, ...message } = parseSubmittedMessage(octets)
    const bodyHash = hash('sha256', body, 'buffer')
    return { ...message, octets, bodyAt: octets.length - body.length, bodyHash }
  } catch (error) {
    if (error instanceof SubmissionError) return error.message
    throw error
  }
}
