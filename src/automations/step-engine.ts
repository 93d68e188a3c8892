/**
 * Runs the steps of one contact in an automation, from the step that is due to the next one that takes time. Pure: it
 * returns the effects and the new position; `apply-effects.ts` applies them in one transaction. Later steps of the same
 * run see the changes of earlier ones. A run passes each step at most once, because the steps are a tree.
 */
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import { mergeProperties, type ReceivedEvent, type EventProperties } from './wait-events.ts'
import { branchOf, type ProgramStep, type Program } from './step-program.ts'
import { evaluateCondition, type ConditionFacts, type SentMail } from './condition.ts'
import type { Step } from './steps.ts'

export interface StepRunInput extends ConditionFacts {
  /** The next step; null at the end. */
  readonly step: string | null
  /** Whether the contact waited at this step for an event, which arrived or timed out. */
  readonly hasWaited: boolean
  /** Events received since the enrolment was due or while it waited; a wait for one of them ends at once. */
  readonly receivedEvents: readonly ReceivedEvent[]
  /** The audience that the contact must be in to get the messages; null if none. */
  readonly audienceId: string | null
  /** Why the contact gets no more messages of this automation, as text; null if it does. */
  readonly refusal: string | null
}

type MailStep = Extract<Step, { type: 'send_email' }>

export type Effect =
  | { readonly kind: 'mail'; readonly step: MailStep; readonly event: EventProperties | null }
  | { readonly kind: 'tag'; readonly tag: string; readonly isAdded: boolean }
  | { readonly kind: 'audience'; readonly audienceId: string; readonly isAdded: boolean }
  | {
      readonly kind: 'call'
      readonly stepId: string
      readonly url: string
      readonly event: EventProperties | null
      /** As it is after the steps before this one. */
      readonly contact: ContactFields
    }

export type StepRunEnd =
  | {
      readonly kind: 'waits'
      /** The step that is due then; null: the run ends then, after a delay as the last step. */
      readonly step: string | null
      readonly dueMs: number
      readonly event: string | null
      readonly reason: string | null
    }
  | { readonly kind: 'completed' }
  | { readonly kind: 'exited'; readonly reason: string }

export interface StepRunResult {
  readonly end: StepRunEnd
  readonly effects: readonly Effect[]
  /** Ids of the passed steps in order, with the result of conditions and event waits. */
  readonly passed: readonly { readonly id: string; readonly answer: boolean | null }[]
  /** Merged properties of its events; the same object if no event was consumed. */
  readonly event: EventProperties | null
  /** Events not consumed yet, kept if the contact is held before a step that may wait for them. */
  readonly receivedEvents: readonly ReceivedEvent[]
}

export interface StepRunRules {
  readonly nowMs: number
  /** Why a message cannot be sent now and must wait; null if it can be sent. */
  readonly obstacle: (step: MailStep) => MailObstacle | null
}

export interface MailObstacle {
  /** A text for the user. */
  readonly reason: string
  /** Delay until the next attempt. */
  readonly waitMs: number
}

/** Why a contact exits an automation at its next mail step. */
export const NOT_SUBSCRIBED = 'the contact is no longer subscribed to the audience'

interface RunState {
  contact: ContactFields
  readonly audienceId: string | null
  refusal: string | null
  event: EventProperties | null
  readonly receivedEvents: ReceivedEvent[]
  readonly mails: SentMail[]
  readonly effects: Effect[]
  readonly passed: { id: string; answer: boolean | null }[]
}

/** The result of one step: the next step, or the end of the run. */
type StepTransition = { readonly to: string | null } | { readonly end: StepRunEnd }

export function runSteps(program: Program, input: StepRunInput, rules: StepRunRules): StepRunResult {
  const { contact, audienceId, refusal, event, step, hasWaited } = input
  const state: RunState = {
    contact,
    audienceId,
    refusal,
    event,
    receivedEvents: [...input.receivedEvents],
    mails: [...input.mails],
    effects: [],
    passed: [],
  }
  const finish = (end: StepRunEnd): StepRunResult => ({
    end,
    effects: state.effects,
    passed: state.passed,
    event: state.event,
    receivedEvents: end.kind === 'waits' && end.reason !== null ? state.receivedEvents : [],
  })
  let stepId = step
  while (stepId !== null) {
    const placed = program.steps.get(stepId)
    if (placed === undefined) return finish({ kind: 'exited', reason: 'its current step no longer exists' })
    const transition = runStep(placed, state, { ...input, hasWaited: hasWaited && stepId === step }, rules)
    if ('end' in transition) return finish(transition.end)
    stepId = transition.to
  }
  return finish({ kind: 'completed' })
}

function runStep(placed: ProgramStep, state: RunState, input: StepRunInput, rules: StepRunRules): StepTransition {
  const { step, next } = placed
  if (step.type === 'send_email') {
    const blocked = findMailEnd(step, state, rules)
    if (blocked !== null) return { end: blocked }
  }
  const isYes = answerStep(step, state)
  if (step.type === 'wait_for_event' && isYes === false && !input.hasWaited)
    return waitUntil(rules, step.id, step.seconds, step.event_name)
  state.passed.push({ id: step.id, answer: isYes })
  if (isYes !== null) return { to: branchOf(placed, isYes) }
  if (step.type === 'delay') return waitUntil(rules, next, step.seconds, null)
  if (step.type === 'exit') return { end: { kind: 'exited', reason: 'a step ended it' } }
  recordEffect(state, effectOf(step as EffectStep, state))
  return { to: next }
}

/** The result of a condition or event wait; null for other steps. */
function answerStep(step: Step, state: RunState): boolean | null {
  if (step.type === 'condition') return evaluateCondition(step.condition, state)
  return step.type === 'wait_for_event' ? consumeEvent(step.event_name, state) : null
}

/** Consumes an event if it was received: merges its properties and removes it, so it ends only one wait. */
function consumeEvent(name: string, state: RunState): boolean {
  const index = state.receivedEvents.findIndex((one) => one.name === name)
  if (index < 0) return false
  const [event] = state.receivedEvents.splice(index, 1)
  state.event = mergeProperties(state.event, event?.properties ?? null)
  return true
}

/** Ends the run at a mail step if the contact refuses messages or the message cannot be sent now. */
function findMailEnd(step: MailStep, { refusal }: RunState, { obstacle, nowMs }: StepRunRules): StepRunEnd | null {
  if (refusal !== null) return { kind: 'exited', reason: refusal }
  const found = obstacle(step)
  return found === null
    ? null
    : { kind: 'waits', step: step.id, dueMs: nowMs + found.waitMs, event: null, reason: found.reason }
}

function waitUntil(
  { nowMs }: StepRunRules,
  step: string | null,
  seconds: number,
  event: string | null,
): StepTransition {
  return { end: { kind: 'waits', step, dueMs: nowMs + seconds * 1000, event, reason: null } }
}

function recordEffect(state: RunState, effect: Effect): void {
  state.effects.push(effect)
  if (effect.kind === 'mail') state.mails.push({ step: effect.step.id, isOpened: false, isClicked: false })
  if (effect.kind === 'tag') state.contact = withTag(state.contact, effect)
  state.refusal ??= refusalAfter([effect], state.audienceId)
}

/** The refusal that follows if the effects remove the contact from the audience of its messages. */
export function refusalAfter(effects: readonly Effect[], audienceId: string | null): string | null {
  const leaves = effects.some(
    (effect) => effect.kind === 'audience' && !effect.isAdded && effect.audienceId === audienceId,
  )
  return leaves ? NOT_SUBSCRIBED : null
}

type EffectStep = Exclude<Step, { type: 'condition' | 'wait_for_event' | 'delay' | 'exit' }>

function effectOf(step: EffectStep, { event, contact }: RunState): Effect {
  if (step.type === 'send_email') return { kind: 'mail', step, event }
  if (step.type === 'webhook') return { kind: 'call', stepId: step.id, url: step.url, event, contact }
  if (step.type === 'add_tag' || step.type === 'remove_tag')
    return { kind: 'tag', tag: step.tag, isAdded: step.type === 'add_tag' }
  return { kind: 'audience', audienceId: step.audience_id, isAdded: step.type === 'add_to_audience' }
}

/** Further tags of a contact are not added. */
export const MAX_TAGS = 100

/** What `changeTags` (apply-effects.ts) stores: a tag that exists keeps its place. */
export function withTag(
  contact: ContactFields,
  { tag, isAdded }: { readonly tag: string; readonly isAdded: boolean },
): ContactFields {
  const { tags } = contact
  if (!isAdded) return { ...contact, tags: tags.filter((one) => one !== tag) }
  return tags.includes(tag) || tags.length >= MAX_TAGS ? contact : { ...contact, tags: [...tags, tag] }
}
