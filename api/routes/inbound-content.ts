/** The schema of what was found in a received email. Webhooks carry the same fields as `data`. */
import { z } from 'zod'
import { SPAM_VERDICTS } from '#src/inbound-mail/received-content.ts'
import { timestamp } from '#api/http/response-schemas.ts'

const about = (description: string): { description: string } => ({ description })

export const spamVerdict = z.enum(SPAM_VERDICTS).meta(about('the guide on inbound mail lists the rules'))

const address = z.object({
  address: z.string().meta(about('the address')),
  name: z.string().nullable().meta(about('the display name; null: none')),
})
const addresses = (description: string): z.ZodType => z.array(address).meta({ description })
const text = (description: string): z.ZodType => z.string().nullable().meta({ description })
const check = {
  result: z.string().meta(about('none, pass, fail, softfail, neutral, policy, temperror or permerror (RFC 8601)')),
  domain: text('the domain that was checked; null: none'),
}

const filterResult = z.object({
  name: z.enum(['spamassassin', 'rspamd']).meta(about('the program')),
  verdict: z.enum(['clean', 'spam', 'unknown']).meta(about('unknown: no answer in time, or the mail is too large')),
  score: z.number().nullable().meta(about('the score that it gave; null: unknown')),
  threshold: z.number().nullable().meta(about('the score from which it calls a mail spam; null: unknown')),
  symbols: z.array(z.string()).meta(about('names of its rules that matched')),
})

const attachment = z.object({
  n: z.int().meta(about('its number, from 1')),
  filename: text('its name as the sender gave it; null: none'),
  content_type: z.string().meta(about('its type as the sender gave it')),
  content_id: text('HTML refers to it as cid:; null: none'),
  disposition: text('attachment or inline; null: none'),
  size: z.int().meta(about('bytes')),
  content_base64: text('the content of a small attachment; null: use the url'),
  url: z.string().meta(about('downloads it without a key, until links_expire_at')),
})

export const receivedContent = z
  .object({
    received_at: timestamp.meta(about('when it was accepted')),
    mail_from: z.string().meta(about('the envelope sender; empty: a bounce or an automatic reply')),
    tag: text('the subaddress, what follows the + in the recipient; null: none'),
    peer: z.string().meta(about('the IP address of the sending server')),
    helo: z.string().meta(about('the name that the sending server gave')),
    is_tls: z.boolean().meta(about('whether the connection was encrypted')),
    size: z.int().meta(about('bytes of the complete mail')),
    is_unreadable: z.boolean().meta(about('it could not be parsed: it has no parts, only its source')),
    from: address.nullable().meta(about('the first From address; null: none')),
    to: addresses('the To addresses'),
    cc: addresses('the Cc addresses'),
    reply_to: addresses('the Reply-To addresses'),
    subject: text('the subject; null: none'),
    date: timestamp.nullable().meta(about('the Date field; null: none, or not valid')),
    header_message_id: text('the Message-ID field; null: none'),
    in_reply_to: text('the In-Reply-To field; null: none'),
    references: z.array(z.string()).meta(about('the ids in the References field')),
    headers: z
      .array(
        z.object({
          name: z.string().meta(about('the name of the field, as it is written')),
          value: z.string().meta(about('the value for people: unfolded and decoded')),
        }),
      )
      .meta(about('the header fields in their order')),
    text: text('the plain text; null if there is none'),
    html: text('the HTML, from a stranger: sanitize it before you show it; null if there is none'),
    is_truncated: z.boolean().meta(about('headers, texts or attachments are longer than what is here: use source_url')),
    is_automatic: z.boolean().meta(about('an automatic reply, a list or a report: do not answer it automatically')),
    attachments: z.array(attachment).meta(about('files in the mail')),
    authentication: z
      .object({
        spf: z.object(check).meta(about('SPF of the sending server (RFC 7208)')),
        dkim: z
          .array(
            z.object({
              ...check,
              selector: text('the selector of the key'),
              is_aligned: z.boolean().meta(about('whether the domain is that of the From address')),
            }),
          )
          .meta(about('the result of each DKIM signature (RFC 6376), at most ten')),
        dmarc: z
          .object({ ...check, policy: text('what the From domain asks for failing mail: none, quarantine or reject') })
          .meta(about('whether SPF or DKIM prove the From domain (RFC 7489)')),
        arc: z.object(check).meta(about('the chain of forwarders (RFC 8617)')),
      })
      .meta(about('the results of all checks')),
    spam: z
      .object({
        verdict: spamVerdict,
        score: z.number().meta(about('the sum of the rules')),
        reasons: z.array(z.string()).meta(about('names of the rules that matched')),
        filter: filterResult.nullish().meta(about('what SpamAssassin or rspamd found; null: the server uses none')),
      })
      .meta(about('the verdict and its reasons')),
    source_url: z.string().meta(about('downloads the complete mail without a key, until links_expire_at')),
    links_expire_at: timestamp.meta(about('when the links stop working, and the mail is deleted')),
  })
  .meta({ id: 'ReceivedEmailContent' })
