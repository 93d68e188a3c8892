import { Check } from './icons.tsx'
import { cx } from './class-names.ts'
import { UiLink } from './ui-link.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface Step {
  key: string
  label: string
  isDone: boolean
  /** Set where the step can be opened. */
  href?: string | undefined
}

export interface StepperProps {
  steps: readonly Step[]
  currentKey: string
  label: string
}

/** The steps of a form. On phones only the current one shows its name. */
export function Stepper({ steps, currentKey, label }: StepperProps) {
  const texts = useUiTexts()
  return (
    <nav aria-label={label}>
      <ol className="flex items-center gap-2">
        {steps.map((step, index) => {
          const isCurrent = step.key === currentKey
          const content = (
            <>
              <span
                aria-hidden="true"
                className={cx(
                  'flex size-6 shrink-0 items-center justify-center rounded-full border text-xs font-medium tabular-nums',
                  isCurrent && 'border-accent bg-accent text-accent-contrast',
                  !isCurrent && step.isDone && 'border-transparent bg-success-soft text-success-text',
                  !isCurrent && !step.isDone && 'border-line-strong text-muted',
                )}
              >
                {step.isDone && !isCurrent ? <Check size={12} /> : index + 1}
              </span>
              <span className="sr-only">{texts.step(index + 1, steps.length)}: </span>
              <span
                className={cx('truncate text-sm', isCurrent ? 'font-medium text-ink' : 'text-muted max-sm:sr-only')}
              >
                {step.label}
              </span>
              {step.isDone && <span className="sr-only">, {texts.stepDone}</span>}
            </>
          )
          const look = 'flex min-h-6 min-w-0 items-center gap-2 rounded-md'
          return (
            <li
              key={step.key}
              aria-current={isCurrent ? 'step' : undefined}
              className={cx('flex min-w-0 items-center gap-2', index < steps.length - 1 && 'grow')}
            >
              {step.href === undefined || isCurrent ? (
                <span className={look}>{content}</span>
              ) : (
                <UiLink href={step.href} className={look}>
                  {content}
                </UiLink>
              )}
              {index < steps.length - 1 && <span aria-hidden="true" className="h-px min-w-3 grow bg-line-strong" />}
            </li>
          )
        })}
      </ol>
    </nav>
  )
}
