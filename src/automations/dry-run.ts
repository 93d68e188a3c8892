/**
 * Runs one contact through an automation without side effects and reports what would happen and when. Waits pass
 * immediately. The caller's assumptions decide what nobody can know yet: whether a message is opened or an event
 * arrives. Conditions use the contact's current data plus the changes made by earlier steps. Pure.
 */
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import type { Program } from './step-program.ts'
import type { SentMail } from './condition.ts'
import type { Step } from './steps.ts'
import { refusalAfter, runSteps, withTag, type Effect, type StepRunEnd, type StepRunInput } from './step-engine.ts'

export interface DryRunAssumptions {
  readonly isOpened: boolean
  readonly isClicked: boolean
  /** Names of events that arrive as soon as a step waits for them. */
  readonly events: readonly string[]
}

export interface AutomationDryRunStep {
  readonly id: string
  readonly type: Step['type']
  readonly atMs: number
  /** The result of a condition or of a wait for an event. */
  readonly answer: boolean | null
  /** Why the step could not send now, as text; the contact would wait here. */
  readonly obstacle: string | null
}

export interface AutomationDryRun {
  readonly steps: readonly AutomationDryRunStep[]
  readonly end: Exclude<StepRunEnd, { kind: 'waits' }>
  readonly endsAtMs: number
}

export interface AutomationDryRunInput {
  readonly contact: ContactFields
  readonly event: Readonly<Record<string, unknown>> | null
  readonly refusal: string | null
  readonly audienceId: string | null
  readonly nowMs: number
  /** Returns why a mail step could not send now; null if it could. */
  readonly obstacle: (step: Extract<Step, { type: 'send_email' }>) => string | null
}

export function dryRun(
  program: Program,
  start: AutomationDryRunInput,
  assumptions: DryRunAssumptions,
): AutomationDryRun {
  const steps: AutomationDryRunStep[] = []
  let input: StepRunInput = { ...start, step: program.first, mails: [], hasWaited: false, receivedEvents: [] }
  for (let nowMs = start.nowMs; ;) {
    const run = runSteps(program, input, { nowMs, obstacle: () => null })
    for (const { id, answer } of run.passed) {
      const step = program.steps.get(id)?.step
      if (step === undefined) continue
      const obstacle = step.type === 'send_email' ? start.obstacle(step) : null
      steps.push({ id, type: step.type, atMs: nowMs, answer, obstacle })
    }
    const { end } = run
    if (end.kind !== 'waits') return { steps, end, endsAtMs: nowMs }
    const eventArrives = end.event !== null && assumptions.events.includes(end.event)
    if (!eventArrives) nowMs = end.dueMs
    input = {
      ...input,
      step: end.step,
      hasWaited: end.event !== null,
      receivedEvents: eventArrives && end.event !== null ? [{ name: end.event, properties: null }] : [],
      refusal: input.refusal ?? refusalAfter(run.effects, input.audienceId),
      contact: withTags(input.contact, run.effects),
      mails: [...input.mails, ...assumedMails(run.effects, assumptions)],
    }
  }
}

function assumedMails(effects: readonly Effect[], { isOpened, isClicked }: DryRunAssumptions): SentMail[] {
  return effects.flatMap((effect) =>
    effect.kind === 'mail' ? [{ step: effect.step.id, isOpened: isOpened || isClicked, isClicked }] : [],
  )
}

function withTags(contact: ContactFields, effects: readonly Effect[]): ContactFields {
  return effects.reduce((now, effect) => (effect.kind === 'tag' ? withTag(now, effect) : now), contact)
}
