/**
 * Walks one contact through an automation without doing anything: what would happen, and when. Waits pass at once; what nobody can know
 * yet (whether a mail will be opened, an event will come) is what the caller assumes. Conditions are answered from the contact as it is
 * now, and as the steps before would have changed it. Pure.
 */
import type { ContactFacts } from '#src/contacts/facts.ts'
import type { Program } from './step-program.ts'
import type { SentMail } from './condition.ts'
import type { Step } from './steps.ts'
import { refusalAfter, walk, type Effect, type Ending, type Traveller } from './step-engine.ts'

export interface Assumed {
  readonly isOpened: boolean
  readonly isClicked: boolean
  /** Names of events that come at once when they are waited for. */
  readonly events: readonly string[]
}

export interface RehearsedStep {
  readonly id: string
  readonly type: Step['type']
  readonly atMs: number
  /** Of a condition, or a wait for an event. */
  readonly answer: boolean | null
  /** What stands in the way now, for people; it would wait here. */
  readonly obstacle: string | null
}

export interface Rehearsal {
  readonly steps: readonly RehearsedStep[]
  readonly ending: Exclude<Ending, { kind: 'waits' }>
  readonly endsAtMs: number
}

export interface Start {
  readonly contact: ContactFacts
  readonly event: Readonly<Record<string, unknown>> | null
  readonly refusal: string | null
  readonly audienceId: string | null
  readonly nowMs: number
  /** Why a mail step could not send now; null when it could. */
  readonly obstacle: (step: Extract<Step, { type: 'send_email' }>) => string | null
}

export function rehearse(program: Program, start: Start, assumed: Assumed): Rehearsal {
  const steps: RehearsedStep[] = []
  let traveller: Traveller = { ...start, step: program.first, mails: [], hasWaited: false, heard: [] }
  for (let nowMs = start.nowMs; ;) {
    const walked = walk(program, traveller, { nowMs, obstacle: () => null })
    for (const { id, answer } of walked.passed) {
      const step = program.steps.get(id)?.step
      if (step === undefined) continue
      const obstacle = step.type === 'send_email' ? start.obstacle(step) : null
      steps.push({ id, type: step.type, atMs: nowMs, answer, obstacle })
    }
    const { ending } = walked
    if (ending.kind !== 'waits') return { steps, ending, endsAtMs: nowMs }
    const hasCome = ending.event !== null && assumed.events.includes(ending.event)
    if (!hasCome) nowMs = ending.dueMs
    traveller = {
      ...traveller,
      step: ending.step,
      hasWaited: ending.event !== null,
      heard: hasCome && ending.event !== null ? [{ name: ending.event, properties: null }] : [],
      refusal: traveller.refusal ?? refusalAfter(walked.effects, traveller.audienceId),
      contact: changed(traveller.contact, walked.effects),
      mails: [...traveller.mails, ...mailsOf(walked.effects, assumed)],
    }
  }
}

function mailsOf(effects: readonly Effect[], { isOpened, isClicked }: Assumed): SentMail[] {
  return effects.flatMap((effect) =>
    effect.kind === 'mail' ? [{ step: effect.step.id, isOpened: isOpened || isClicked, isClicked }] : [],
  )
}

function changed(contact: ContactFacts, effects: readonly Effect[]): ContactFacts {
  return effects.reduce((now, effect) => {
    if (effect.kind !== 'tag') return now
    const others = now.tags.filter((tag) => tag !== effect.tag)
    return { ...now, tags: effect.isAdded ? [...others, effect.tag] : others }
  }, contact)
}
