/** The steps to the first delivered message: what each is for, whether it is done, and what does it. */
import { Check } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { type ChecklistStep, getDomains, verifyDomain, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { TestMail } from './test-mail.tsx'
import { TestMailProgress } from './test-mail-progress.tsx'

interface ChecklistProps {
  readonly steps: readonly ChecklistStep[]
  readonly isSandbox: boolean
}

export function Checklist({ steps, isSandbox }: ChecklistProps): ReactNode {
  const { start } = useTexts()
  const done = steps.filter(({ is_done: isDone }) => isDone).length
  const next = steps.find(({ is_done: isDone }) => !isDone)?.step
  return (
    <div className="flex flex-col gap-4">
      {isSandbox && <Callout title={start.sandbox}>{start.sandboxText}</Callout>}
      <Card padding="none">
        <div className="border-b border-line px-4 py-3 sm:px-5">
          <Progress
            label={start.progress}
            text={start.stepsDone(done, steps.length)}
            share={done / Math.max(steps.length, 1)}
            tone={done === steps.length ? 'success' : 'accent'}
          />
        </div>
        <ol>
          {steps.map((step, index) => (
            <Step key={step.step} step={step} number={index + 1} isNext={step.step === next}>
              <StepBody step={step} isSandbox={isSandbox} />
            </Step>
          ))}
        </ol>
      </Card>
    </div>
  )
}

interface StepProps {
  readonly step: ChecklistStep
  readonly number: number
  readonly isNext: boolean
  readonly children: ReactNode
}

function Step({ step: { step, is_done: isDone }, number, isNext, children }: StepProps): ReactNode {
  const { start } = useTexts()
  const texts = start.stepTexts[step]
  return (
    <li
      aria-current={isNext ? 'step' : undefined}
      className="flex min-w-0 gap-3 border-b border-line px-4 py-4 last:border-b-0 sm:gap-4 sm:px-5"
    >
      <span
        className={cx(
          'mt-px flex size-6 shrink-0 items-center justify-center rounded-full text-sm font-medium tabular-nums',
          isDone && 'bg-success-soft text-success-text',
          !isDone && (isNext ? 'bg-accent text-accent-contrast' : 'bg-sunken text-muted'),
        )}
      >
        {isDone ? <Check size={14} aria-hidden="true" /> : <span aria-hidden="true">{number}</span>}
        <span className="sr-only">{isDone ? start.done : start.open}</span>
      </span>
      <div className="min-w-0 grow">
        <h2 className={cx('font-medium', isDone ? 'text-muted' : 'text-ink')}>{texts.title}</h2>
        <p className="max-w-prose text-sm text-muted">{texts.why}</p>
        {children}
      </div>
    </li>
  )
}

function StepBody({ step, isSandbox }: { readonly step: ChecklistStep; readonly isSandbox: boolean }): ReactNode {
  const { start } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  if (step.step === 'send') return <TestMail />
  if (step.step === 'deliver') return <TestMailProgress isSandbox={isSandbox} />
  if (step.is_done) return null
  if (step.step === 'verify-domain') return <RecordsToPublish domainId={step.object?.id ?? null} />
  const [permission, target] =
    step.step === 'add-domain'
      ? (['domains:write', path('/domains', { add: '1' })] as const)
      : (['keys:write', path('/keys', { create: 'sending' })] as const)
  return (
    <StepActions>
      {can(permission) ? (
        <ButtonLink variant="primary" href={target}>
          {start.stepTexts[step.step].action}
        </ButtonLink>
      ) : (
        <p className="text-sm text-muted">{start.askOwner}</p>
      )}
      {step.step === 'add-domain' && can('accounts:write') && (
        <ButtonLink href={path('/accounts')}>{start.connectAccount}</ButtonLink>
      )}
    </StepActions>
  )
}

function StepActions({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className="mt-3 flex flex-wrap items-center gap-2">{children}</div>
}

/** The records that the domain cannot be verified without, and a check of them now. */
function RecordsToPublish({ domainId }: { readonly domainId: string | null }): ReactNode {
  const { start } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const toast = useToast()
  const say = useServerText()
  const domains = useApi(getDomains, { query: { limit: 100 } }, { isEnabled: domainId !== null && can('domains:read') })
  const check = useAction(verifyDomain, {
    invalidates: ['/public/domains', '/public/checklist'],
    onSuccess: ({ message }) => toast({ title: message }),
  })
  const domain = domains.data?.data.find(({ id }) => id === domainId)
  if (domainId === null) return null
  if (domain === undefined)
    return (
      <StepActions>
        <ButtonLink href={path(`/domains/${domainId}`)}>{start.allRecords}</ButtonLink>
      </StepActions>
    )
  return (
    <>
      <div className="mt-3 flex flex-col gap-3">
        {domain.dns_records.filter(isMissing).map((record) => (
          <DnsRecord
            key={`${record.type} ${record.name}`}
            type={record.type}
            name={record.name}
            value={record.value}
            priority={record.priority ?? undefined}
            purpose={start.neededBy(domain.domain)}
            reason={
              record.status === 'pending' || record.message === null
                ? undefined
                : say(record.message, record.translation)
            }
          />
        ))}
      </div>
      <StepActions>
        {can('domains:write') && (
          <Button
            variant="primary"
            isLoading={check.isPending}
            onClick={() => check.mutate({ params: { domainID: domainId } })}
          >
            {start.stepTexts['verify-domain'].action}
          </Button>
        )}
        <ButtonLink href={path(`/domains/${domainId}`)}>{start.allRecords}</ButtonLink>
      </StepActions>
    </>
  )
}

function isMissing({ required, status }: Domain['dns_records'][number]): boolean {
  return required && status !== 'ok'
}
