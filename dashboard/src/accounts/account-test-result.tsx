import { Check, X } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import type { AccountTest } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { Duration } from '#dashboard/src/ui/times.tsx'

/** The steps of a test in order, and the SMTP conversation. */
export function AccountTestResult({ test }: { readonly test: AccountTest }): ReactNode {
  const { accounts } = useTexts()
  return (
    <div role="status" className="flex min-w-0 flex-col gap-3">
      <p className={test.ok ? 'font-medium text-success-text' : 'font-medium text-danger-text'}>
        {test.ok ? accounts.testPassed : accounts.testFailed} · <Duration seconds={test.duration_ms / 1000} />
      </p>
      <ol className="flex flex-col gap-2">
        {test.steps.map(({ step, ok, detail }) => (
          <li key={step} className="flex min-w-0 items-start gap-2">
            {ok ? (
              <Check size={16} aria-label={accounts.passed} className="mt-0.5 shrink-0 text-success-text" />
            ) : (
              <X size={16} aria-label={accounts.failed} className="mt-0.5 shrink-0 text-danger-text" />
            )}
            <span className="min-w-0">
              <span className="font-medium">{accounts.steps[step]}</span>{' '}
              <span className="break-words text-muted">{detail}</span>
            </span>
          </li>
        ))}
      </ol>
      {test.conversation !== '' && <CodeBlock title={accounts.conversation} text={test.conversation} isWrapped />}
    </div>
  )
}
