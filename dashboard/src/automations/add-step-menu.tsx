/** A plus that adds a step at one place of the flow, by click or keyboard. */
import { Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { STEP_TYPES, type StepType } from './flow-document.ts'
import { STEP_ICONS } from './step-icons.ts'

interface AddStepMenuProps {
  /** Says where: `Add a step after Send email`. */
  readonly label: string
  readonly onAdd: (type: StepType) => void
}

export function AddStepMenu({ label, onAdd }: AddStepMenuProps): ReactNode {
  const { automations } = useTexts()
  return (
    <Menu
      align="start"
      trigger={<IconButton icon={Plus} label={label} size="sm" variant="secondary" hasTooltip={false} />}
      groups={[
        {
          label: automations.addStep,
          items: STEP_TYPES.map((type) => ({
            label: automations.types[type],
            icon: STEP_ICONS[type],
            onSelect: () => onAdd(type),
          })),
        },
      ]}
    />
  )
}
