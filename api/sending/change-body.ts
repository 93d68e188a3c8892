/**
 * The body of a change to a scheduled message: the fields of a send, of which those that are left out, or are null,
 * stay as they are. An empty list or object, an empty text or false removes what the message has.
 */
import { z } from 'zod'
import type { Mailbox } from '#src/mail/address.ts'
import { isTimeZone } from '#src/platform/time-input.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { changedAttachments, type RequestedAttachment } from './attachments.ts'
import {
  changedExpiry,
  changedReplyTo,
  contentFields,
  optionFields,
  readContent,
  senderFields,
  type MessageContent,
  type SendBody,
} from './body.ts'
import { changedHeaders, type CustomHeader } from './headers.ts'
import { changedMailboxList, quoteName, readMailbox } from './mailboxes.ts'
import { optionalTier } from './tier.ts'

/** Null: it stays. */
export interface ChangeBody {
  readonly at: string | null
  readonly timezone: string | null
  readonly tier: Tier | null
  readonly from: Mailbox | null
  /** A new name for the present From. */
  readonly fromName: string | null
  readonly lists: {
    readonly to: readonly Mailbox[] | null
    readonly cc: readonly Mailbox[] | null
    readonly bcc: readonly Mailbox[] | null
  }
  readonly replyTo: Mailbox | 'tracking' | 'none' | null
  readonly content: MessageContent
  readonly attachments: readonly RequestedAttachment[] | null
  readonly headers: readonly CustomHeader[] | null
  readonly tags: readonly string[] | null
  readonly metadata: SendBody['metadata']
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly expiresAt: Date | 'never' | null
}

const time = z.string().nullish()
const { tags, metadata, track_opens, track_clicks } = optionFields

const changeFields = contentFields.extend({
  scheduled_at: time.meta({ description: '`YYYY-MM-DD_HH:MM:SS` or ISO 8601' }),
  scheduled_for: time.meta({ description: 'alias of scheduled_at' }),
  timezone: z
    .string()
    .nullish()
    .refine((zone) => !zone || isTimeZone(zone), 'must be an IANA time zone such as Europe/Berlin')
    .meta({ description: 'of a time without an offset; by default the one of the message' }),
  priority: optionalTier.meta({ description: 'the tier it enters when due' }),
  to: changedMailboxList,
  cc: changedMailboxList,
  bcc: changedMailboxList,
  ...senderFields,
  reply_to: changedReplyTo,
  attachments: changedAttachments,
  headers: changedHeaders,
  tags,
  metadata,
  track_opens,
  track_clicks,
  expires_at: changedExpiry,
})

const EXAMPLE = { scheduled_at: '2031-05-05_09:00:00', subject: 'Did it arrive?', cc: ['rob@example.org'] }

export const changeBody = changeFields
  .transform((given, sink): ChangeBody => {
    const { from, name } = readSender(given, sink)
    if (given.to?.length === 0)
      sink.addIssue({ code: 'custom', path: ['to'], message: 'cannot be empty: cancel the message instead' })
    return {
      at: given.scheduled_at || given.scheduled_for || null,
      timezone: given.timezone || null,
      tier: given.priority,
      from,
      fromName: name,
      lists: { to: given.to, cc: given.cc, bcc: given.bcc },
      replyTo: given.reply_to,
      content: readContent(given, sink),
      attachments: given.attachments,
      headers: given.headers,
      tags: given.tags ?? null,
      metadata: given.metadata ?? null,
      trackOpens: given.track_opens ?? null,
      trackClicks: given.track_clicks ?? null,
      expiresAt: given.expires_at,
    }
  })
  .meta({ examples: [EXAMPLE] })

/** `from_name` overrides the name in `from`; without `from` it renames the present one. */
function readSender(
  given: Pick<z.output<typeof changeFields>, 'from' | 'from_name' | 'fromName'>,
  sink: z.core.$RefinementCtx,
): { readonly from: Mailbox | null; readonly name: string | null } {
  const name = given.from_name || given.fromName || null
  if (name === null) return { from: given.from, name }
  const checked = readMailbox(`${quoteName(name)} <${given.from?.email ?? 'name@only.example'}>`, [], {
    addIssue: ({ message }) => sink.addIssue({ code: 'custom', path: ['from_name'], message }),
  })
  return given.from === null ? { from: null, name: checked?.name ?? null } : { from: checked, name: null }
}
