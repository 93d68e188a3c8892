/** The properties of the selected step, or of the trigger. */
import { Trash2 } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { changeStep, findStep, hasBranches, removeStep } from './flow-document.ts'
import { useFlowEditor } from './flow-editor.ts'
import { STEP_FIELDS } from './step-fields.tsx'
import { TriggerFields } from './trigger-fields.tsx'

/** Its title is shown by what is around it. */
export function StepPanel(): ReactNode {
  const { automations } = useTexts()
  const { flow, selectedId, select, mayChange } = useFlowEditor()
  const step = selectedId === null ? undefined : findStep(flow.steps, selectedId)
  const problems = flow.problems.get(selectedId ?? '') ?? []
  if (selectedId !== 'trigger' && step === undefined) return <p className="text-muted">{automations.chooseStep}</p>
  const Fields = step === undefined ? null : STEP_FIELDS[step.type]
  return (
    <fieldset disabled={!mayChange} className="flex min-w-0 flex-col gap-4">
      {problems.length > 0 && (
        <Callout tone="danger">
          {problems.map((problem) => (
            <p key={problem}>{problem}</p>
          ))}
        </Callout>
      )}
      {step === undefined && <TriggerFields trigger={flow.trigger} onChange={(trigger) => flow.change({ trigger })} />}
      {step !== undefined && Fields !== null && (
        <>
          <Fields
            key={step.id}
            step={step}
            onChange={(change) => flow.change({ steps: changeStep(flow.steps, step.id, change) })}
          />
          <div>
            <Button
              icon={Trash2}
              variant="danger"
              size="sm"
              onClick={() => {
                select(null)
                flow.change({ steps: removeStep(flow.steps, step.id) })
              }}
            >
              {automations.removeStep}
            </Button>
            {hasBranches(step) && <p className="mt-1 text-sm text-muted">{automations.removeBranches}</p>}
          </div>
        </>
      )}
    </fieldset>
  )
}
