/**
 * One contact on its way through an automation, from the step that is due to the next one that takes time. Pure: it says what is to be done
 * and where the contact then is; `apply-effects.ts` does it, all of it or nothing. What a step changes in the contact, later steps of the same
 * walk see. A walk passes each step at most once, for steps are a tree.
 */
import type { ContactFacts } from '#src/contacts/facts.ts'
import { mergeProperties, type Heard, type Properties } from './wait-events.ts'
import { branchOf, type Placed, type Program } from './step-program.ts'
import { answer, type Known, type SentMail } from './condition.ts'
import type { Step } from './steps.ts'

export interface Traveller extends Known {
  /** The step that is next. Null: there is none. */
  readonly step: string | null
  /** It waited at this step for an event: that came, or the time is over. */
  readonly hasWaited: boolean
  /** Events that came since it was due, or while it waited: a wait for one of them is over before it begins. */
  readonly heard: readonly Heard[]
  /** The audience that its mails go to the members of; null: they depend on none. */
  readonly audienceId: string | null
  /** It wants no mail of this automation any more: why, for people. Null: it does. */
  readonly refusal: string | null
}

type MailStep = Extract<Step, { type: 'send_email' }>

export type Effect =
  | { readonly kind: 'mail'; readonly step: MailStep; readonly event: Properties | null }
  | { readonly kind: 'tag'; readonly tag: string; readonly isAdded: boolean }
  | { readonly kind: 'audience'; readonly audienceId: string; readonly isAdded: boolean }
  | { readonly kind: 'call'; readonly stepId: string; readonly url: string; readonly event: Properties | null }

export type Ending =
  | {
      readonly kind: 'waits'
      readonly step: string
      readonly dueMs: number
      readonly event: string | null
      readonly reason: string | null
    }
  | { readonly kind: 'completed' }
  | { readonly kind: 'exited'; readonly reason: string }

export interface Walked {
  readonly ending: Ending
  readonly effects: readonly Effect[]
  /** Ids of the steps that were passed, in order, with the answers of those that asked. */
  readonly passed: readonly { readonly id: string; readonly answer: boolean | null }[]
  /** The properties of its events; the very same object when no further one was met. */
  readonly event: Properties | null
  /** What it has not met and may still: it is held before the step that would. */
  readonly heard: readonly Heard[]
}

export interface WalkRules {
  readonly nowMs: number
  /** Why a mail cannot be sent now and has to wait; null when it can. */
  readonly obstacle: (step: MailStep) => Obstacle | null
}

export interface Obstacle {
  /** For people. */
  readonly reason: string
  /** Until it is tried again. */
  readonly waitMs: number
}

/** Why a contact leaves an automation at its next mail. */
export const NO_MEMBER = 'the contact is not subscribed to the audience any more'

interface Journey {
  contact: ContactFacts
  readonly audienceId: string | null
  refusal: string | null
  event: Properties | null
  readonly heard: Heard[]
  readonly mails: SentMail[]
  readonly effects: Effect[]
  readonly passed: { id: string; answer: boolean | null }[]
}

/** What one step leads to: the next one, or an ending. */
type Onward = { readonly to: string | null } | { readonly ending: Ending }

export function walk(program: Program, traveller: Traveller, rules: WalkRules): Walked {
  const { contact, audienceId, refusal, event, step, hasWaited } = traveller
  const journey: Journey = {
    contact,
    audienceId,
    refusal,
    event,
    heard: [...traveller.heard],
    mails: [...traveller.mails],
    effects: [],
    passed: [],
  }
  const end = (ending: Ending): Walked => ({
    ending,
    effects: journey.effects,
    passed: journey.passed,
    event: journey.event,
    heard: ending.kind === 'waits' && ending.reason !== null ? journey.heard : [],
  })
  let at = step
  while (at !== null) {
    const placed = program.steps.get(at)
    if (placed === undefined) return end({ kind: 'exited', reason: 'the step it was at is not there any more' })
    const onward = take(placed, journey, { ...traveller, hasWaited: hasWaited && at === step }, rules)
    if ('ending' in onward) return end(onward.ending)
    at = onward.to
  }
  return end({ kind: 'completed' })
}

function take(placed: Placed, journey: Journey, traveller: Traveller, rules: WalkRules): Onward {
  const { step, next } = placed
  if (step.type === 'send_email') {
    const stop = stopOf(step, journey, rules)
    if (stop !== null) return { ending: stop }
  }
  const isYes = answerAt(step, journey)
  if (step.type === 'wait_for_event' && isYes === false && !traveller.hasWaited)
    return waitUntil(rules, step.id, step.seconds, step.event_name)
  journey.passed.push({ id: step.id, answer: isYes })
  if (isYes !== null) return { to: branchOf(placed, isYes) }
  if (step.type === 'delay') return next === null ? { to: null } : waitUntil(rules, next, step.seconds, null)
  if (step.type === 'exit') return { ending: { kind: 'exited', reason: 'a step ended it' } }
  note(journey, effectOf(step as Doing, journey.event))
  return { to: next }
}

/** Null at a step that asks nothing. */
function answerAt(step: Step, journey: Journey): boolean | null {
  if (step.type === 'condition') return answer(step.condition, journey)
  return step.type === 'wait_for_event' ? meet(step.event_name, journey) : null
}

/** Whether the event came; it then says what the contact goes on with, and ends no other wait. */
function meet(name: string, journey: Journey): boolean {
  const place = journey.heard.findIndex((one) => one.name === name)
  if (place < 0) return false
  const [met] = journey.heard.splice(place, 1)
  journey.event = mergeProperties(journey.event, met?.properties ?? null)
  return true
}

/** A mail that its reader does not want, or that cannot be sent now. */
function stopOf(step: MailStep, { refusal }: Journey, { obstacle, nowMs }: WalkRules): Ending | null {
  if (refusal !== null) return { kind: 'exited', reason: refusal }
  const found = obstacle(step)
  return found === null
    ? null
    : { kind: 'waits', step: step.id, dueMs: nowMs + found.waitMs, event: null, reason: found.reason }
}

function waitUntil({ nowMs }: WalkRules, step: string, seconds: number, event: string | null): Onward {
  return { ending: { kind: 'waits', step, dueMs: nowMs + seconds * 1000, event, reason: null } }
}

function note(journey: Journey, effect: Effect): void {
  journey.effects.push(effect)
  if (effect.kind === 'mail') journey.mails.push({ step: effect.step.id, isOpened: false, isClicked: false })
  if (effect.kind === 'tag') journey.contact = retagged(journey.contact, effect)
  journey.refusal ??= refusalAfter([effect], journey.audienceId)
}

/** Taken out of the audience that its mails go to. */
export function refusalAfter(effects: readonly Effect[], audienceId: string | null): string | null {
  const leaves = effects.some(
    (effect) => effect.kind === 'audience' && !effect.isAdded && effect.audienceId === audienceId,
  )
  return leaves ? NO_MEMBER : null
}

type Doing = Exclude<Step, { type: 'condition' | 'wait_for_event' | 'delay' | 'exit' }>

function effectOf(step: Doing, event: Properties | null): Effect {
  if (step.type === 'send_email') return { kind: 'mail', step, event }
  if (step.type === 'webhook') return { kind: 'call', stepId: step.id, url: step.url, event }
  if (step.type === 'add_tag' || step.type === 'remove_tag')
    return { kind: 'tag', tag: step.tag, isAdded: step.type === 'add_tag' }
  return { kind: 'audience', audienceId: step.audience_id, isAdded: step.type === 'add_to_audience' }
}

function retagged(
  contact: ContactFacts,
  { tag, isAdded }: { readonly tag: string; readonly isAdded: boolean },
): ContactFacts {
  const others = contact.tags.filter((one) => one !== tag)
  return { ...contact, tags: isAdded ? [...others, tag] : others }
}
