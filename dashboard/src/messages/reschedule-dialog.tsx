import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { changeScheduled, type WaitingEmail } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { TIERS } from './message-filter.ts'

interface RescheduleDialogProps {
  readonly email: WaitingEmail
  readonly onClose: () => void
}

/** Changes the time, the subject and the tier of a scheduled message; only what was changed is sent. */
export function RescheduleDialog({ email, onClose }: RescheduleDialogProps): ReactNode {
  const { messages, shell } = useTexts()
  const toast = useToast()
  const [at, setAt] = useState<string | null>(email.scheduled_at)
  const [subject, setSubject] = useState(email.subject)
  const [tier, setTier] = useState(email.metadata.priority)
  const [error, setError] = useState<ApiError | null>(null)
  const change = useAction(changeScheduled, {
    invalidates: ['/send-email', '/public/emails'],
    onSuccess: () => {
      toast({ title: messages.changed })
      onClose()
    },
    onError: setError,
  })
  const errorOf = (path: string): string | undefined => error?.details.find((one) => one.path === path)?.message
  const hasFieldError = ['scheduled_at', 'subject', 'priority'].some((path) => errorOf(path) !== undefined)
  const body = {
    ...(at !== null && at !== email.scheduled_at ? { scheduled_at: at } : {}),
    ...(subject === email.subject ? {} : { subject }),
    ...(tier === email.metadata.priority ? {} : { priority: tier }),
  }
  const isChanged = Object.keys(body).length > 0 && at !== null
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={messages.changeTitle}
      description={messages.changeText}
      onSubmit={() => {
        if (isChanged) change.mutate({ params: { id: email.id }, body })
      }}
      footer={
        <>
          <Button onClick={onClose}>{shell.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={change.isPending} disabled={!isChanged}>
            {messages.saveChange}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <Field label={messages.scheduledFor} error={errorOf('scheduled_at')}>
          <DateTimeInput value={at} onChange={setAt} />
        </Field>
        <Field label={messages.subject} error={errorOf('subject')}>
          <TextInput value={subject} onChange={setSubject} />
        </Field>
        <Field label={messages.tier} error={errorOf('priority')}>
          <Select
            value={tier}
            onChange={setTier}
            options={TIERS.map((value) => ({ value, label: messages.tiers[value] }))}
          />
        </Field>
        {error !== null && !hasFieldError && (
          <p role="alert" className="text-danger-text">
            {error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}
