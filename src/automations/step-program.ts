/**
 * A version's steps as they are walked: each step by its id, with what comes after it. Behind the last step of a branch comes what stands
 * behind the step that branched. Steps are a tree, so a walk always ends. Made once for each version, which never changes.
 */
import type { Step } from './steps.ts'

export interface Placed {
  readonly step: Step
  /** The id of the step behind it, out of its branch if it is the last; null: the end. */
  readonly next: string | null
}

export interface Program {
  readonly first: string | null
  readonly steps: ReadonlyMap<string, Placed>
}

export function compileSteps(steps: readonly Step[]): Program {
  const placed = new Map<string, Placed>()
  place(steps, null, placed)
  return { first: steps[0]?.id ?? null, steps: placed }
}

function place(steps: readonly Step[], behind: string | null, placed: Map<string, Placed>): void {
  for (const [i, step] of steps.entries()) {
    const next = steps[i + 1]?.id ?? behind
    placed.set(step.id, { step, next })
    if (!('yes' in step)) continue
    place(step.yes, next, placed)
    place(step.no, next, placed)
  }
}

/** Where a branch of a step begins: with its first step, or with what is behind the step when it is empty. */
export function branchOf({ step, next }: Placed, isYes: boolean): string | null {
  if (!('yes' in step)) return next
  const branch = isYes ? step.yes : step.no
  return branch[0]?.id ?? next
}

const CHANGING: ReadonlySet<Step['type']> = new Set([
  'add_tag',
  'remove_tag',
  'add_to_audience',
  'remove_from_audience',
])

/** Whether it may change the contacts that go through it. */
export function changesContact(program: Program | undefined): boolean {
  return program !== undefined && [...program.steps.values()].some(({ step }) => CHANGING.has(step.type))
}
