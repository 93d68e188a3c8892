/**
 * The steps of a version, compiled for execution: each step by id, with the step that follows it. The last step of a
 * branch continues with the step after the branching one. Steps are a tree, so every run ends. Compiled once per
 * version, because versions never change.
 */
import type { Step } from './steps.ts'

export interface ProgramStep {
  readonly step: Step
  /** Id of the following step; after the last step of a branch, the one after the branch. Null: the end. */
  readonly next: string | null
}

export interface Program {
  readonly first: string | null
  readonly steps: ReadonlyMap<string, ProgramStep>
}

export function compileSteps(steps: readonly Step[]): Program {
  const programSteps = new Map<string, ProgramStep>()
  addSteps(steps, null, programSteps)
  return { first: steps[0]?.id ?? null, steps: programSteps }
}

function addSteps(steps: readonly Step[], following: string | null, programSteps: Map<string, ProgramStep>): void {
  for (const [i, step] of steps.entries()) {
    const next = steps[i + 1]?.id ?? following
    programSteps.set(step.id, { step, next })
    if (!('yes' in step)) continue
    addSteps(step.yes, next, programSteps)
    addSteps(step.no, next, programSteps)
  }
}

/** The first step of a branch, or the step after the branch if it is empty. */
export function branchOf({ step, next }: ProgramStep, isYes: boolean): string | null {
  if (!('yes' in step)) return next
  const branch = isYes ? step.yes : step.no
  return branch[0]?.id ?? next
}

const CONTACT_CHANGING_TYPES: ReadonlySet<Step['type']> = new Set([
  'add_tag',
  'remove_tag',
  'add_to_audience',
  'remove_from_audience',
])

/** Whether a program can change its contacts. */
export function changesContact(program: Program | undefined): boolean {
  return program !== undefined && [...program.steps.values()].some(({ step }) => CONTACT_CHANGING_TYPES.has(step.type))
}
