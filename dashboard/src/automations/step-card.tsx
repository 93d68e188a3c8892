/** A step as a button: what it does, how many contacts passed it, and what is wrong with it. */
import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import { TriangleAlert } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { formatNumber } from '#dashboard/src/ui/format.ts'
import type { FlowStep } from './flow-document.ts'
import { useFlowEditor } from './flow-editor.ts'
import { STEP_ICONS } from './step-icons.ts'
import { summaryOf } from './step-summary.ts'

interface StepCardProps {
  readonly id: string
  readonly step?: FlowStep
  readonly icon?: IconComponent
  readonly title?: string
  readonly summary?: string
}

export function StepCard({ id, step, icon, title, summary }: StepCardProps): ReactNode {
  const { automations, ui } = useTexts()
  const { flow, names, counts, selectedId, passed, select } = useFlowEditor()
  const problems = flow.problems.get(id) ?? []
  const count = counts.get(id)
  const Icon = step === undefined ? icon : STEP_ICONS[step.type]
  const line = step === undefined ? summary : summaryOf(step, names)
  const number = (value: number): string => formatNumber(value, ui.locale, true)
  return (
    <button
      type="button"
      aria-pressed={selectedId === id}
      onClick={() => select(id)}
      className={cx(
        'nodrag nopan flex h-[84px] w-full min-w-0 flex-col justify-center gap-0.5 rounded-lg border bg-surface px-3 py-2 text-left transition-colors hover:bg-hover',
        selectedId === id ? 'border-accent ring-2 ring-accent' : 'border-line-strong',
        selectedId !== id && problems.length > 0 && 'border-danger',
        passed?.has(id) === true && 'bg-accent-soft',
      )}
    >
      <span className="flex items-center gap-2 font-medium text-ink">
        {Icon !== undefined && <Icon size={15} aria-hidden="true" className="shrink-0 text-muted" />}
        <span className="truncate">{step === undefined ? title : automations.types[step.type]}</span>
      </span>
      {line !== undefined && line !== '' && <span className="w-full truncate text-sm text-muted">{line}</span>}
      {problems.length > 0 ? (
        <span className="flex w-full items-center gap-1 text-xs text-danger-text">
          <TriangleAlert size={12} aria-hidden="true" className="shrink-0" />
          <span className="truncate" title={problems.join(' ')}>
            {problems.join(' ')}
          </span>
        </span>
      ) : (
        count !== undefined && (
          <span className="text-xs text-muted tabular-nums">
            {automations.counts(number(count.passed), number(count.waiting))}
          </span>
        )
      )}
    </button>
  )
}
