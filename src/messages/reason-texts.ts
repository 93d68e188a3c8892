/**
 * Why a recipient is not delivered, by code: reasons of our own, which are stored as sentences. What a receiver says
 * has no code.
 */
import { createSentenceFinder } from '#src/platform/sentence-codes.ts'
import { findTemplateTranslation } from '#src/templates/problem-texts.ts'

export const REASON_TEXTS = {
  suppressed_because: 'the address is on the suppression list: {cause}',
  contact_deleted: 'the contact was deleted',
  unsubscribed: 'the contact unsubscribed after the mail was queued',
  opted_out: 'the contact opted out of all messages',
  not_subscribed: 'is no longer subscribed to the audience',
  expired: 'the message expired at {at}, before it could be sent',
  cancelled_by_sender: 'cancelled by its sender',
  cancelled_by_hand: 'cancelled by hand',
  paused_by_hand: 'paused by hand',
  campaign_cancelled: 'the campaign was cancelled',
  retried: 'retried at the request of its sender',
  account_removed: 'the connected account was removed',
  account_paused: 'the connected account {account} is paused: {reason}',
  domain_of_removed: 'the sending domain of {address} was removed',
  domain_removed: 'the sending domain {domain} was removed',
  domain_not_verified: 'the sending domain of {address} is no longer verified: its DKIM record is missing from DNS',
  policy_fetched: 'the MTA-STS policy of {domain} is being fetched',
  template_waits: 'its template: {reason}',
  template_failed: 'the template cannot be rendered for this contact: {reason}',
  content_gone: 'the text or the attachments of the message are no longer stored; send the message again',
  not_composed: 'the message could not be composed: {reason}',
  not_prepared: 'failed to prepare the message: {reason}',
  recipient_erased: 'the recipient was erased',
  other_node: 'another node has the source for it',
  no_running_source: 'no source of its pool can send it now: no running node has a source for this mail ({sources})',
  no_source_warming:
    "no source of its pool can send it now ({sources}): today's warm-up allowance for {receiver} is used up; " +
    'more from {at}',
  no_source: 'no source of its pool can send it now ({sources})',
  lost_after_dot: 'the connection was lost after the final dot ({detail}): the receiver may have the message',
  lost: 'the connection was lost at {stage}: {detail}',
  tls_failed: 'TLS failed: {detail}',
  address_lookup: 'DNS lookup of the address of {host} failed: {detail}',
  no_public_address: '{host} has no public address',
} as const satisfies Readonly<Record<string, string>>

/** Null: the reason has no code. */
export const findReasonTranslation = createSentenceFinder('reason', REASON_TEXTS, { reason: findTemplateTranslation })
