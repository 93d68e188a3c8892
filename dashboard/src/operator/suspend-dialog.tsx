/** Holds the mail of a destination, a workspace or a campaign, after it said how much waits for it. */
import { useState, type ReactNode } from 'react'
import { adminCountQueue, adminSuspend } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'
import { sumCounts } from './queue-filter.ts'

const KINDS = ['domain', 'site', 'workspace', 'campaign'] as const
const WAIT_MS = 400

interface SuspendDialogProps {
  readonly kind: string
  readonly subject: string
  readonly onClose: () => void
}

export function SuspendDialog({ kind: firstKind, subject: firstSubject, onClose }: SuspendDialogProps): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const [kind, setKind] = useState(KINDS.find((one) => one === firstKind) ?? 'domain')
  const [subject, setSubject] = useState(firstSubject)
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState<string | null>(null)
  const [scope, setScope] = useState<'mail' | 'all'>('all')
  const suspend = useOperatorAction(adminSuspend, ['/admin/suspensions', '/admin/queue', '/admin/workspaces'])
  const body = {
    [kind]: subject.trim(),
    ...(reason === '' ? {} : { reason }),
    ...(until === null ? {} : { until }),
    ...(kind === 'workspace' ? { scope } : {}),
  }
  return (
    <ActionDialog
      title={texts.suspend}
      text={texts.suspendText}
      label={texts.suspend}
      isDanger
      isReady={subject.trim() !== ''}
      fields={[kind, 'reason', 'until', 'scope']}
      run={() => suspend({ body })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={texts.what}>
            <Select
              value={kind}
              onChange={setKind}
              options={KINDS.map((value) => ({ value, label: texts.kinds[value] }))}
            />
          </Field>
          <Field label={texts.subject} hint={texts.subjectHints[kind]} error={errors.of(kind)} isRequired>
            <TextInput value={subject} onChange={setSubject} spellCheck={false} autoCapitalize="none" />
          </Field>
          <WaitingNow kind={kind} subject={subject.trim()} />
          {kind === 'workspace' && (
            <Field label={texts.scope} error={errors.of('scope')}>
              <Select
                value={scope}
                onChange={setScope}
                options={(['mail', 'all'] as const).map((value) => ({ value, label: texts.scopes[value] }))}
              />
            </Field>
          )}
          <Field label={operator.reason} hint={operator.reasonHint} error={errors.of('reason')} isOptional>
            <TextInput value={reason} onChange={setReason} />
          </Field>
          <Field label={operator.until} hint={operator.untilHint} error={errors.of('until')} isOptional>
            <DateTimeInput value={until} onChange={setUntil} />
          </Field>
        </>
      )}
    </ActionDialog>
  )
}

interface WaitingNowProps {
  readonly kind: (typeof KINDS)[number]
  readonly subject: string
}

function WaitingNow({ kind, subject }: WaitingNowProps): ReactNode {
  const { operator } = useTexts()
  const settled = useDebounced(subject, WAIT_MS)
  const filter = settled === '*' ? {} : { [kind]: settled }
  const counted = useApi(adminCountQueue, { query: { ...filter, by: 'state' } }, { isEnabled: settled !== '' })
  if (settled === '' || counted.data === undefined) return null
  const count = sumCounts(counted.data.data.counts)
  return <p className="text-sm text-muted">{operator.queue.willSuspend(operator.queue.recipients(count))}</p>
}
