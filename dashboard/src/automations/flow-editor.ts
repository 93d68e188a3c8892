/** What the canvas and the list share: the flow, what is selected, and how it is changed. */
import { createContext, use } from 'react'
import type { Automation } from './automation-status.tsx'
import { findStep, type InsertPoint, type StepType } from './flow-document.ts'
import type { FlowTexts, Names } from './step-summary.ts'
import type { Flow } from './use-flow.ts'

export interface FlowEditor {
  readonly flow: Flow
  readonly names: Names
  readonly counts: ReadonlyMap<string, { readonly passed: number; readonly waiting: number }>
  /** The id of a step, or `trigger`. */
  readonly selectedId: string | null
  /** Steps that the shown contact passed; null if no contact is shown. */
  readonly passed: ReadonlySet<string> | null
  readonly mayChange: boolean
  readonly select: (id: string | null) => void
  readonly add: (point: InsertPoint, type: StepType) => void
}

export const FlowEditorContext = createContext<FlowEditor | null>(null)

/** @throws outside of a flow. */
export function useFlowEditor(): FlowEditor {
  const editor = use(FlowEditorContext)
  if (editor === null) throw new Error('no flow is edited here')
  return editor
}

export function countsOf({ step_counts: counts }: Automation): FlowEditor['counts'] {
  return new Map(counts.map((one) => [one.step, one]))
}

/** What the button at a place is called. */
export function labelOfPoint({ flow }: FlowEditor, { list, index }: InsertPoint, texts: FlowTexts): string {
  if (index === 0) {
    const branch = /\.(yes|no)$/.exec(list)?.[1]
    return branch === undefined ? texts.addFirst : texts.addIn(branch === 'yes' ? texts.yes : texts.no)
  }
  let steps = flow.steps
  for (const [, place, branch] of list.matchAll(/\.(\d+)\.(yes|no)/g))
    steps = (branch === 'yes' ? steps[Number(place)]?.yes : steps[Number(place)]?.no) ?? []
  const before = steps[index - 1]
  return before === undefined ? texts.addStep : texts.addAfter(texts.types[before.type])
}

export function nameOfStep({ flow }: Pick<FlowEditor, 'flow'>, id: string, texts: FlowTexts): string {
  if (id === 'trigger') return texts.trigger
  const step = findStep(flow.steps, id)
  return step === undefined ? id : texts.types[step.type]
}
