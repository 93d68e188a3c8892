/**
 * The public form of an audience at SUBSCRIBE_BASE_URL/s/<token>: a page for people, JSON for programs, and the second step behind the link
 * of a letter. A browser is answered with pages, refusals too. What the answers may tell is settled in src/subscribe/subscribe.ts.
 */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { findForm } from '#src/subscribe/form.ts'
import { confirm, enter, readLink, type Outcome } from '#src/subscribe/subscribe.ts'
import type { ApiContext } from '#api/http/context.ts'
import {
  confirmedPage,
  confirmPage,
  formPage,
  refusedPage,
  thanksPage,
  TRAP,
  wrongFormPage,
} from '#api/pages/subscribe.ts'
import { route, type Answer, type AnyRoute, type Given } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'

const byToken = z.object({ token: z.string() })
const byProof = z.object({ proof: z.string() })
const MAX_NAME = 100

const name = z
  .string()
  .trim()
  .max(MAX_NAME, `at most ${MAX_NAME} characters`)
  .refine((text) => !/\p{Cc}/u.test(text), 'has characters that no name has')
  .nullish()
const email = z.string().transform((text, sink) => {
  const read = parseAddress(text.trim())
  if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
  return read.ok ? read.address.address.toLowerCase() : z.NEVER
})

const subscribeBody = z
  .object({
    email,
    first_name: name,
    last_name: name,
    firstName: name.meta({ description: 'alias of first_name' }),
    lastName: name.meta({ description: 'alias of last_name' }),
    [TRAP]: z
      .unknown()
      .optional()
      .meta({ description: 'leave it out: it is there to be filled in by programs that fill in everything' }),
  })
  .transform((given) => ({
    person: {
      email: given.email,
      firstName: (given.first_name ?? given.firstName) || null,
      lastName: (given.last_name ?? given.lastName) || null,
    },
    isTrapped: given[TRAP] !== undefined && given[TRAP] !== null && given[TRAP] !== '',
  }))

const subscribed = enveloped(
  z.object({
    status: z.literal('subscribed'),
    confirmation_required: z
      .boolean()
      .meta({ description: 'a mail was sent, and the link in it has to be opened first' }),
  }),
)

/** 404 also for an audience that was deleted. */
const NO_FORM = refuse('NOT_FOUND', 'There is no such form.')
/** Somebody has to set up a domain first: come again in an hour. */
const NO_SENDER = refuse('SERVICE_UNAVAILABLE', 'This form cannot take subscriptions now.', 3600)
const NO_LINK = refuse('NOT_FOUND', 'The link is not valid, or its 7 days are over.')

const show = route({
  name: 'subscribe-form',
  summary: 'The public form of an audience, as a page',
  method: 'GET',
  paths: ['/s/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { params }) => {
    const form = await findForm(ctx.db, params.token)
    return form === null ? NO_FORM : formPage(form)
  },
})

const post = route({
  name: 'subscribe',
  summary: 'Subscribe by the public form; the answer does not tell whether the address was known',
  method: 'POST',
  paths: ['/s/:token'],
  atRoot: true,
  access: 'public',
  isOpenToSites: true,
  params: byToken,
  body: subscribeBody,
  accepts: ['json', 'form'],
  status: 200,
  answer: subscribed,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  refusalPage,
  handle: async (ctx, { params, body, address, wantsPage }) =>
    answerOf(await enter(ctx, { token: params.token, address, ...body }), { wantsPage, none: NO_FORM }, thanksPage),
})

const showLink = route({
  name: 'subscribe-confirmation',
  summary: 'The page behind the link of a confirmation mail; changes nothing',
  method: 'GET',
  paths: ['/s/confirm/:proof'],
  atRoot: true,
  access: 'public',
  params: byProof,
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { params }) => {
    const found = await readLink(ctx, params.proof)
    return found === null ? NO_LINK : confirmPage(found.form, found.wish.email)
  },
})

const postLink = route({
  name: 'subscribe-confirm',
  summary: 'Confirm a subscription: the button of that page',
  method: 'POST',
  paths: ['/s/confirm/:proof'],
  atRoot: true,
  access: 'public',
  params: byProof,
  status: 200,
  answer: subscribed,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { params, wantsPage }) => {
    const outcome = await confirm(ctx, params.proof)
    const done: Outcome =
      outcome.kind === 'taken' ? { ...outcome, form: { ...outcome.form, isDoubleOptIn: false } } : outcome
    return answerOf(done, { wantsPage, none: NO_LINK }, confirmedPage)
  },
})

export const SUBSCRIBE_ROUTES: readonly AnyRoute[] = [show, post, showLink, postLink]

type Taken = Extract<Outcome, { kind: 'taken' }>

function answerOf(
  outcome: Outcome,
  as: { readonly wantsPage: boolean; readonly none: Refusal },
  pageOf: (form: Taken['form']) => Answer,
): Answer | Refusal {
  if (outcome.kind === 'no form') return as.none
  if (outcome.kind === 'too often') return refuse('RATE_LIMITED', 'Too many attempts.', outcome.retryAfter)
  if (outcome.kind === 'no sender') return NO_SENDER
  return as.wantsPage ? pageOf(outcome.form) : { body: told(outcome.form.isDoubleOptIn) }
}

function told(isAsked: boolean): object {
  const message = isAsked ? 'Almost done: open the link in the mail that was sent.' : 'Subscribed.'
  return { success: true, message, data: { status: 'subscribed', confirmation_required: isAsked } }
}

/** What is wrong with the form is shown in the form. */
async function refusalPage(ctx: ApiContext, refusal: Refusal, given: Given): Promise<Answer> {
  if (refusal.error !== 'VALIDATION_ERROR') return refusedPage(refusal)
  const form = await findForm(ctx.db, given.params['token'] ?? '')
  return form === null
    ? { ...refusedPage(NO_FORM), status: 404 }
    : wrongFormPage(form, given.body, refusal.details ?? [])
}
