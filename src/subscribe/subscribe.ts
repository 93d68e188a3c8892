/**
 * Subscribes a person through the public form of an audience: at once, or through the link in a confirmation message
 * (double opt-in).
 *
 * The response never reveals whether the address was known: the outcome is the same, and it is returned no sooner than
 * MIN_RESPONSE_MS after the start, when either kind of work has finished. A bot that fills in the honeypot field gets
 * the same outcome, and nothing is stored.
 *
 * If the process dies before the commit, nothing happened. Two requests at once create one membership and one event.
 * Mail scanners follow links, so the link only shows a page, and the button on it confirms. Confirming twice has no
 * further effect.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readLook } from '#src/branding/branding.ts'
import { subscribe as join, type Subscriber } from '#src/contacts/membership.ts'
import type { Context } from '#src/context.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import type { NoticeBuffer } from '#src/operator/notice-buffer.ts'
import type { Acceptor } from '#src/messages/accept.ts'
import { findForm, findFormByAudience, type SubscribeForm } from './form.ts'
import { isSolved, type SolvedChallenge } from './challenge.ts'
import { countSubmission, describeDailyLimit, secondsUntilTomorrow } from './daily-limits.ts'
import { buildConfirmationMail, findConfirmationSender } from './confirmation-mail.ts'
import { maySendConfirmation, limitEmail, limitNetwork, type FormLimitContext } from './form-rate-limits.ts'
import { readConfirmationToken, type SubscriptionRequest } from './confirmation-token.ts'

export interface SubscribeContext extends Context, FormLimitContext {
  readonly acceptor: Acceptor
  readonly notices: Pick<NoticeBuffer, 'raise'>
}

export interface FormSubmission {
  readonly token: string
  /** IP address of the client. */
  readonly address: string
  /** The header Accept-Language: the language of the confirmation mail. */
  readonly accepted: string | undefined
  readonly person: Required<Subscriber>
  /** The honeypot field, which people do not see, was filled in. */
  readonly isHoneypotFilled: boolean
  /** Null: none was sent. */
  readonly solved: SolvedChallenge | null
}

export type SubscribeOutcome =
  | { readonly kind: 'accepted'; readonly form: SubscribeForm }
  | { readonly kind: 'no form' }
  | { readonly kind: 'too often'; readonly retryAfter: number }
  /** The proof of work is missing or wrong (SUBSCRIBE_CHALLENGE_BITS). */
  | { readonly kind: 'not solved' }
  /** A daily limit is reached, or the form grew too fast. */
  | { readonly kind: 'stopped'; readonly retryAfter: number }
  /** Confirmation is required, and the workspace has no domain to send it from. */
  | { readonly kind: 'no sender' }

/** Longer than a commit takes, shorter than a person notices. */
const MIN_RESPONSE_MS = 200

/** @throws if PostgreSQL is unavailable: nothing is known to be stored. */
export async function submitForm(ctx: SubscribeContext, submission: FormSubmission): Promise<SubscribeOutcome> {
  const network = await limitNetwork(ctx, submission.address)
  if (network !== null) return { kind: 'too often', retryAfter: network }
  const form = await findForm(ctx.db, submission.token)
  if (form === null) return { kind: 'no form' }
  if (submission.isHoneypotFilled) return { kind: 'accepted', form }
  if (ctx.config.subscribeChallengeBits > 0) {
    const { solved, token } = submission
    if (solved === null || !(await isSolved(ctx, token, solved))) return { kind: 'not solved' }
  }
  const inbox = await limitEmail(ctx, submission.person.email)
  if (inbox !== null) return { kind: 'too often', retryAfter: inbox }
  const stopped = await checkDay(ctx, form)
  if (stopped !== null) return stopped
  const [outcome] = await Promise.all([
    form.isDoubleOptIn ? sendConfirmation(ctx, form, submission) : addSubscriber(ctx, form, submission.person),
    sleep(MIN_RESPONSE_MS),
  ])
  return outcome
}

/** Counts the submission; or tells the operator that a daily limit is reached. */
async function checkDay(ctx: SubscribeContext, form: SubscribeForm): Promise<SubscribeOutcome | null> {
  const now = new Date(ctx.clock.now())
  const limit = await countSubmission(ctx, form, now)
  if (limit === null) return null
  const text = `${describeDailyLimit(limit)}; the form is stopped until the next day (UTC)`
  const subject = limit.kind === 'workspace' ? `workspace ${form.workspaceId}` : `audience ${form.audienceId}`
  ctx.notices.raise({ kind: 'subscribe-stopped', subject, text: `${form.name}: ${text}` })
  const { workspaceId, audienceId } = form
  ctx.log.warn({ workspaceId, audienceId, limit: limit.kind }, 'a subscribe form is stopped for the day')
  return { kind: 'stopped', retryAfter: secondsUntilTomorrow(now) }
}

async function addSubscriber(
  ctx: SubscribeContext,
  form: SubscribeForm,
  person: Subscriber,
): Promise<SubscribeOutcome> {
  const at = { workspaceId: form.workspaceId, audienceId: form.audienceId, now: new Date(ctx.clock.now()) }
  const result = await ctx.db.transaction((tx) => join(tx, at, person))
  if (result.kind === 'no audience') return { kind: 'no form' }
  publishNotifications(ctx, result.notifications)
  return { kind: 'accepted', form }
}

/** Everyone gets the same confirmation message, known or not, and not again for a while. */
async function sendConfirmation(
  ctx: SubscribeContext,
  form: SubscribeForm,
  { person, accepted }: Pick<FormSubmission, 'person' | 'accepted'>,
): Promise<SubscribeOutcome> {
  const sender = await findConfirmationSender(ctx.db, form.workspaceId)
  if (sender === null) {
    ctx.log.warn(
      { workspaceId: form.workspaceId, audienceId: form.audienceId },
      'subscribe form cannot send a confirmation: the workspace has no verified domain',
    )
    return { kind: 'no sender' }
  }
  if (!(await maySendConfirmation(ctx, form.audienceId, person.email))) return { kind: 'accepted', form }
  const request: SubscriptionRequest = { workspaceId: form.workspaceId, audienceId: form.audienceId, ...person }
  const look = await readLook(ctx, form.workspaceId, { accepted })
  await ctx.acceptor.accept(buildConfirmationMail(ctx, form, sender, { request, look }))
  return { kind: 'accepted', form }
}

export interface PendingConfirmation {
  readonly form: SubscribeForm
  readonly request: SubscriptionRequest
}

/**
 * The request that a link confirms; null if the token is invalid or expired, or the audience was deleted. Changes
 * nothing.
 */
export async function readConfirmation(ctx: Context, token: string): Promise<PendingConfirmation | null> {
  const request = readConfirmationToken(ctx, token)
  const form = request === null ? null : await findFormByAudience(ctx.db, request)
  return request === null || form === null ? null : { form, request: request }
}

/** Confirms a request, by the button on the page behind the link. @throws like `submitForm`. */
export async function confirmSubscription(ctx: SubscribeContext, token: string): Promise<SubscribeOutcome> {
  const found = await readConfirmation(ctx, token)
  return found === null ? { kind: 'no form' } : addSubscriber(ctx, found.form, found.request)
}
