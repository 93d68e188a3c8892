/** The same flow as a nested list: for keyboards, screen readers and phones. */
import { ArrowDown, ArrowUp, Zap } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { AddStepMenu } from './add-step-menu.tsx'
import { hasBranches, moveStep, type FlowStep, type InsertPoint } from './flow-document.ts'
import { labelOfPoint, useFlowEditor } from './flow-editor.ts'
import { StepCard } from './step-card.tsx'
import { triggerSummary } from './step-summary.ts'

export function FlowOutline(): ReactNode {
  const { automations } = useTexts()
  const { flow, names } = useFlowEditor()
  return (
    <div className="flex max-w-xl flex-col gap-2">
      <StepCard id="trigger" icon={Zap} title={automations.trigger} summary={triggerSummary(flow.trigger, names)} />
      <StepList steps={flow.steps} list="steps" />
      <p className="text-sm text-muted">{automations.endText}</p>
    </div>
  )
}

function StepList({ steps, list }: { readonly steps: readonly FlowStep[]; readonly list: string }): ReactNode {
  const { automations } = useTexts()
  return (
    <div className="flex flex-col gap-2">
      <AddAt point={{ list, index: 0 }} />
      {steps.length === 0 && list !== 'steps' && <p className="text-sm text-muted">{automations.emptyBranch}</p>}
      <ol className="flex flex-col gap-2">
        {steps.map((step, index) => (
          <li key={step.id} className="flex flex-col gap-2">
            <div className="flex items-center gap-2">
              <div className="min-w-0 grow">
                <StepCard id={step.id} step={step} />
              </div>
              <MoveButtons step={step} isFirst={index === 0} isLast={index === steps.length - 1} />
            </div>
            {hasBranches(step) &&
              (['yes', 'no'] as const).map((branch) => (
                <div key={branch} className="ml-2 border-l-2 border-line pl-3 sm:ml-4 sm:pl-4">
                  <p className="mb-1 text-sm font-medium text-muted">{automations.branch[branch]}</p>
                  <StepList steps={step[branch] ?? []} list={`${list}.${index}.${branch}`} />
                </div>
              ))}
            <AddAt point={{ list, index: index + 1 }} />
          </li>
        ))}
      </ol>
    </div>
  )
}

function AddAt({ point }: { readonly point: InsertPoint }): ReactNode {
  const { automations } = useTexts()
  const editor = useFlowEditor()
  if (!editor.mayChange) return null
  return (
    <div>
      <AddStepMenu label={labelOfPoint(editor, point, automations)} onAdd={(type) => editor.add(point, type)} />
    </div>
  )
}

interface MoveButtonsProps {
  readonly step: FlowStep
  readonly isFirst: boolean
  readonly isLast: boolean
}

function MoveButtons({ step, isFirst, isLast }: MoveButtonsProps): ReactNode {
  const { automations } = useTexts()
  const { flow, mayChange } = useFlowEditor()
  const name = automations.types[step.type]
  const move = (by: 1 | -1) => () => flow.change({ steps: moveStep(flow.steps, step.id, by) })
  if (!mayChange) return null
  return (
    <div className="flex flex-col gap-1">
      <IconButton
        size="sm"
        variant="ghost"
        icon={ArrowUp}
        label={automations.moveUp(name)}
        disabled={isFirst}
        onClick={move(-1)}
      />
      <IconButton
        size="sm"
        variant="ghost"
        icon={ArrowDown}
        label={automations.moveDown(name)}
        disabled={isLast}
        onClick={move(1)}
      />
    </div>
  )
}
