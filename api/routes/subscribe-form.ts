/**
 * The public signup form of an audience at SUBSCRIBE_BASE_URL/s/<token>: a page for people, JSON for programs, and
 * the confirmation behind the link in a mail. A browser gets pages, also for errors. src/subscribe/subscribe.ts
 * decides what a response may reveal.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { readLook } from '#src/branding/branding.ts'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { createChallenge } from '#src/subscribe/challenge.ts'
import { findForm, type SubscribeForm } from '#src/subscribe/form.ts'
import { confirmSubscription, submitForm, readConfirmation, type SubscribeOutcome } from '#src/subscribe/subscribe.ts'
import type { ApiContext } from '#api/http/context.ts'
import {
  confirmedPage,
  confirmPage,
  formPage,
  refusedPage,
  thanksPage,
  HONEYPOT_FIELD,
  invalidFormPage,
  type FormChallenge,
  type FormView,
} from '#api/pages/subscribe.ts'
import { route, type ApiResponse, type AnyRoute, type RejectedInput } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'

const byToken = z.object({ token: z.string() })
const byProof = z.object({ proof: z.string() })
const MAX_NAME = 100

const nameField = z
  .string()
  .trim()
  .max(MAX_NAME, `at most ${MAX_NAME} characters`)
  .refine((text) => !/\p{Cc}/u.test(text), 'has control characters')
  .nullish()
const emailField = z.string().transform((text, sink) => {
  const parsed = parseAddress(text.trim())
  if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
  return parsed.ok ? parsed.address.address.toLowerCase() : z.NEVER
})

const subscribeBody = z
  .object({
    email: emailField,
    first_name: nameField,
    last_name: nameField,
    firstName: nameField.meta({ description: 'alias of first_name' }),
    lastName: nameField.meta({ description: 'alias of last_name' }),
    challenge: z.string().max(100).optional().meta({ description: 'of the form or of `/s/<token>/challenge`' }),
    solution: z.string().max(20).optional().meta({ description: 'the number that solves the challenge' }),
    [HONEYPOT_FIELD]: z
      .unknown()
      .optional()
      .meta({ description: 'a honeypot for programs that fill in every field: omit it' }),
  })
  .transform((given) => ({
    person: {
      email: given.email,
      firstName: (given.first_name ?? given.firstName) || null,
      lastName: (given.last_name ?? given.lastName) || null,
    },
    solved:
      given.challenge === undefined || given.solution === undefined
        ? null
        : { challenge: given.challenge, solution: given.solution },
    isHoneypotFilled:
      given[HONEYPOT_FIELD] !== undefined && given[HONEYPOT_FIELD] !== null && given[HONEYPOT_FIELD] !== '',
  }))

const subscribedResponse = envelope(
  z.object({
    status: z.literal('subscribed'),
    confirmation_required: z
      .boolean()
      .meta({ description: 'true: a mail was sent, and the subscription starts when its link is confirmed' }),
  }),
)

/** Also for the form of a deleted audience. */
const NO_FORM = refuse('NOT_FOUND', 'There is no such form. Check its address with the owner of the page.')
/** The workspace has no domain that can send the confirmation. Someone must set one up: retry in an hour. */
const NO_SENDER = refuse('SERVICE_UNAVAILABLE', 'This form cannot accept subscriptions now. Try again later.', 3600)
const NOT_SOLVED = invalid([{ path: 'solution', message: 'the proof of work is missing, wrong or used' }])
const NO_LINK = refuse('NOT_FOUND', 'The link is invalid or older than 7 days. Subscribe again to get a new one.')

const showForm = route({
  name: 'subscribe-form',
  summary: 'Show the public signup form of an audience',
  method: 'GET',
  paths: ['/s/:token'],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { params, headers }) => {
    const form = await findForm(ctx.db, params.token)
    return form === null ? NO_FORM : formPage(await viewOf(ctx, form, headers), challengeOf(ctx, params.token))
  },
})

const postForm = route({
  name: 'subscribe',
  summary: 'Subscribe by the public form; the response does not reveal whether the address was known',
  method: 'POST',
  paths: ['/s/:token'],
  atRoot: true,
  access: 'public',
  allowsCrossOrigin: true,
  params: byToken,
  body: subscribeBody,
  accepts: ['json', 'form'],
  status: 200,
  response: subscribedResponse,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  refusalPage,
  handle: async (ctx, { params, body, address, wantsPage, headers }) => {
    const accepted = headers['accept-language']
    const outcome = await submitForm(ctx, { token: params.token, address, accepted, ...body })
    return respondWithOutcome(ctx, outcome, { wantsPage, headers, none: NO_FORM, pageOf: thanksPage })
  },
})

const getChallenge = route({
  name: 'subscribe-challenge',
  summary: 'Get a challenge for one submission of a form, if the operator requires a proof of work',
  description:
    'Find a whole number whose SHA-256 of `<challenge>:<number>` begins with `bits` zero bits, and send both with ' +
    'the form as `challenge` and `solution`. With `bits` 0 neither is needed. A challenge works once, within ' +
    '30 minutes.',
  method: 'GET',
  paths: ['/s/:token/challenge'],
  atRoot: true,
  access: 'public',
  allowsCrossOrigin: true,
  params: byToken,
  status: 200,
  response: envelope(z.object({ challenge: z.string(), bits: z.int() })),
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { params: { token } }) => {
    if ((await findForm(ctx.db, token)) === null) return NO_FORM
    const data = { challenge: createChallenge(ctx, token), bits: ctx.config.subscribeChallengeBits }
    return { body: { success: true, message: 'Solve it before you submit the form.', data } }
  },
})

function challengeOf(ctx: ApiContext, token: string): FormChallenge | null {
  const bits = ctx.config.subscribeChallengeBits
  return bits === 0 ? null : { bits, challenge: createChallenge(ctx, token) }
}

const showConfirmation = route({
  name: 'subscribe-confirmation',
  summary: 'Show the page behind the link of a confirmation mail; changes nothing',
  method: 'GET',
  paths: ['/s/confirm/:proof'],
  atRoot: true,
  access: 'public',
  params: byProof,
  status: 200,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { params, headers }) => {
    const found = await readConfirmation(ctx, params.proof)
    return found === null ? NO_LINK : confirmPage(await viewOf(ctx, found.form, headers), found.request.email)
  },
})

const postConfirmation = route({
  name: 'subscribe-confirm',
  summary: 'Confirm a subscription: the button of the confirmation page',
  method: 'POST',
  paths: ['/s/confirm/:proof'],
  atRoot: true,
  access: 'public',
  params: byProof,
  status: 200,
  response: subscribedResponse,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { params, wantsPage, headers }) => {
    const outcome = await confirmSubscription(ctx, params.proof)
    const done: SubscribeOutcome =
      outcome.kind === 'accepted' ? { ...outcome, form: { ...outcome.form, isDoubleOptIn: false } } : outcome
    return respondWithOutcome(ctx, done, { wantsPage, headers, none: NO_LINK, pageOf: confirmedPage })
  },
})

export const SUBSCRIBE_ROUTES: readonly AnyRoute[] = [
  showForm,
  postForm,
  getChallenge,
  showConfirmation,
  postConfirmation,
]

/** The form with the branding of its workspace, in a language of the visitor. */
async function viewOf(ctx: ApiContext, form: SubscribeForm, headers: IncomingHttpHeaders): Promise<FormView> {
  return { form, look: await readLook(ctx, form.workspaceId, { accepted: headers['accept-language'] }) }
}

interface OutcomeOptions {
  readonly wantsPage: boolean
  readonly headers: IncomingHttpHeaders
  readonly none: Refusal
  readonly pageOf: (view: FormView) => ApiResponse
}

async function respondWithOutcome(
  ctx: ApiContext,
  outcome: SubscribeOutcome,
  options: OutcomeOptions,
): Promise<ApiResponse | Refusal> {
  if (outcome.kind === 'no form') return options.none
  if (outcome.kind === 'too often') return rateLimited('client_rate', 'Too many attempts.', outcome.retryAfter)
  if (outcome.kind === 'no sender') return NO_SENDER
  if (outcome.kind === 'not solved') return NOT_SOLVED
  if (outcome.kind === 'stopped')
    return rateLimited('client_rate', 'This form accepts no more subscriptions today.', outcome.retryAfter)
  if (!options.wantsPage) return { body: subscribedBody(outcome.form.isDoubleOptIn) }
  return options.pageOf(await viewOf(ctx, outcome.form, options.headers))
}

function subscribedBody(isConfirmationRequired: boolean): object {
  const message = isConfirmationRequired ? 'Almost done: open the link in the mail that was sent.' : 'Subscribed.'
  return { success: true, message, data: { status: 'subscribed', confirmation_required: isConfirmationRequired } }
}

/** Shows validation errors in the form itself. */
async function refusalPage(ctx: ApiContext, refusal: Refusal, given: RejectedInput): Promise<ApiResponse> {
  if (refusal.error !== 'VALIDATION_ERROR') return refusedPage(refusal)
  const form = await findForm(ctx.db, given.params['token'] ?? '')
  return form === null
    ? { ...refusedPage(NO_FORM), status: 404 }
    : invalidFormPage(
        await viewOf(ctx, form, given.headers),
        given.body,
        refusal.details ?? [],
        challengeOf(ctx, given.params['token'] ?? ''),
      )
}
