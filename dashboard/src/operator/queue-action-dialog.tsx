/** Retries, drops or bounces the mail that matches a filter, after it said how many recipients that is. */
import { useState, type ReactNode } from 'react'
import { adminBounceMail, adminCountQueue, adminDropMail, adminRetryMail } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'
import { describeFilter, sumCounts, type QueueFilter } from './queue-filter.ts'

export const QUEUE_VERBS = ['retry', 'drop', 'bounce'] as const
type QueueVerb = (typeof QUEUE_VERBS)[number]

const ENDPOINTS = { retry: adminRetryMail, drop: adminDropMail, bounce: adminBounceMail } as const

export function isQueueVerb(text: string | undefined): text is QueueVerb {
  return QUEUE_VERBS.some((verb) => verb === text)
}

interface QueueActionDialogProps {
  readonly verb: QueueVerb
  readonly filter: QueueFilter
  readonly onClose: () => void
}

export function QueueActionDialog({ verb, filter, onClose }: QueueActionDialogProps): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const [reason, setReason] = useState('')
  const [isSure, setSure] = useState(false)
  const counted = useApi(adminCountQueue, { query: { ...filter, by: 'state' } }, { staleMs: 0 })
  const run = useOperatorAction(ENDPOINTS[verb], ['/admin/queue', '/admin/actions'])
  const count = counted.data === undefined ? null : sumCounts(counted.data.data.counts)
  const isAll = Object.keys(filter).length === 0
  const what = count === null ? texts.counting : texts.recipients(count)
  return (
    <ActionDialog
      title={texts[`${verb}Title`]}
      text={texts[`${verb}Text`](what)}
      label={count === null ? texts[verb] : `${texts[verb]}: ${what}`}
      isDanger={verb !== 'retry'}
      isReady={count !== null && count > 0 && (!isAll || isSure)}
      fields={['reason']}
      run={() => run({ body: { ...filter, ...(isAll ? { all: true } : {}), ...(reason === '' ? {} : { reason }) } })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          {isAll ? (
            <Callout tone="warning" title={texts.whole}>
              <Checkbox isChecked={isSure} onChange={setSure} label={`${texts[verb]}: ${texts.allMail}`} />
            </Callout>
          ) : (
            <p className="font-mono text-sm break-words">{describeFilter(filter)}</p>
          )}
          <Field label={operator.reason} hint={operator.reasonHint} error={errors.of('reason')} isOptional>
            <TextInput value={reason} onChange={setReason} />
          </Field>
        </>
      )}
    </ActionDialog>
  )
}
