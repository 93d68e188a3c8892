/**
 * Somebody subscribes by the public form of an audience: at once, or by the link in a letter where the audience asks for a second step.
 *
 * Whether the address was known before shows nowhere: the outcome is the same, and it is told no sooner than FLOOR_MS after the beginning,
 * when either kind of work is over. A bot that fills in the trap gets the same outcome, and nothing is stored.
 * Dies before the commit: nothing happened. Two at once: one membership, one event. Mail scanners follow links: a link only shows a page,
 * and the button on it confirms. Confirming twice is confirming once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { subscribe as join, type Subscriber } from '#src/contacts/membership.ts'
import type { Context } from '#src/context.ts'
import { announce } from '#src/queue/notifications.ts'
import type { Acceptor } from '#src/messages/accept.ts'
import { findForm, findFormOf, type SubscribeForm } from './form.ts'
import { confirmationLetter, findSender } from './confirmation-mail.ts'
import { mayAsk, paceEmail, paceNetwork, type Pacing } from './form-rate-limits.ts'
import { readProof, type Wish } from './confirmation-token.ts'

export interface Subscribing extends Context, Pacing {
  readonly acceptor: Acceptor
}

export interface Entry {
  readonly token: string
  /** IP address of whoever posts. */
  readonly address: string
  readonly person: Required<Subscriber>
  /** The field that people do not see was filled in. */
  readonly isTrapped: boolean
}

export type Outcome =
  | { readonly kind: 'taken'; readonly form: SubscribeForm }
  | { readonly kind: 'no form' }
  | { readonly kind: 'too often'; readonly retryAfter: number }
  /** A second step is asked for, and the workspace has no domain to send it from. */
  | { readonly kind: 'no sender' }

/** Longer than a commit takes, shorter than a person waits. */
const FLOOR_MS = 200

/** @throws when PostgreSQL is away: nothing is known to be stored. */
export async function enter(ctx: Subscribing, entry: Entry): Promise<Outcome> {
  const network = await paceNetwork(ctx, entry.address)
  if (network !== null) return { kind: 'too often', retryAfter: network }
  const form = await findForm(ctx.db, entry.token)
  if (form === null) return { kind: 'no form' }
  if (entry.isTrapped) return { kind: 'taken', form }
  const inbox = await paceEmail(ctx, entry.person.email)
  if (inbox !== null) return { kind: 'too often', retryAfter: inbox }
  const [outcome] = await Promise.all([
    form.isDoubleOptIn ? ask(ctx, form, entry.person) : store(ctx, form, entry.person),
    sleep(FLOOR_MS),
  ])
  return outcome
}

async function store(ctx: Subscribing, form: SubscribeForm, person: Subscriber): Promise<Outcome> {
  const at = { workspaceId: form.workspaceId, audienceId: form.audienceId, now: new Date(ctx.clock.now()) }
  const result = await ctx.db.transaction((tx) => join(tx, at, person))
  if (result.kind === 'no audience') return { kind: 'no form' }
  announce(ctx, result.news)
  return { kind: 'taken', form }
}

/** Known or not, subscribed or not: everybody is asked alike, and not again for a while. */
async function ask(ctx: Subscribing, form: SubscribeForm, person: Required<Subscriber>): Promise<Outcome> {
  const sender = await findSender(ctx.db, form.workspaceId)
  if (sender === null) {
    ctx.log.warn(
      { workspaceId: form.workspaceId, audienceId: form.audienceId },
      'a form asks for confirmation, and no domain may send it',
    )
    return { kind: 'no sender' }
  }
  if (!(await mayAsk(ctx, form.audienceId, person.email))) return { kind: 'taken', form }
  const wish: Wish = { workspaceId: form.workspaceId, audienceId: form.audienceId, ...person }
  await ctx.acceptor.accept(confirmationLetter(ctx, form, sender, wish))
  return { kind: 'taken', form }
}

/** Whose confirmation a link asks for; null when it is not ours, its time is over, or the audience is gone. Changes nothing. */
export async function readLink(
  ctx: Context,
  proof: string,
): Promise<{ readonly form: SubscribeForm; readonly wish: Wish } | null> {
  const wish = readProof(ctx, proof)
  const form = wish === null ? null : await findFormOf(ctx.db, wish)
  return wish === null || form === null ? null : { form, wish }
}

/** The button behind the link. @throws as `enter`. */
export async function confirm(ctx: Subscribing, proof: string): Promise<Outcome> {
  const found = await readLink(ctx, proof)
  return found === null ? { kind: 'no form' } : store(ctx, found.form, found.wish)
}
