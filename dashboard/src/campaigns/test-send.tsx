/** Sends the mail of a draft to oneself, with the data of a contact. */
import { Send } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { sendInstant } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan, useSession } from '#dashboard/src/session/session.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import type { DraftFields } from './use-draft.ts'
import { useMailPreview } from './use-mail-preview.ts'

interface TestSendProps {
  readonly fields: DraftFields
  readonly contactId: string | null
}

export function TestSend({ fields, contactId }: TestSendProps): ReactNode {
  const { campaigns, ui } = useTexts()
  const can = useCan()
  const toast = useToast()
  const { email } = useSession().user
  const [isOpen, setOpen] = useState(false)
  const [to, setTo] = useState(email)
  const [error, setError] = useState<ApiError | null>(null)
  const { mail } = useMailPreview(fields, contactId)
  const send = useAction(sendInstant, {
    onSuccess: () => {
      setOpen(false)
      toast({ title: campaigns.testSent(to), tone: 'success' })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['to'])
  const submit = (): void => {
    setError(null)
    if (mail === null || fields.from === null) return
    const subject = fields.template_id !== null && fields.subject ? fields.subject : mail.subject
    send.mutate({
      body: {
        to: to.trim(),
        from: fields.from,
        from_name: fields.from_name,
        subject: campaigns.testMark(subject),
        ...(mail.html === null ? {} : { html: mail.html }),
        text: mail.text,
      },
    })
  }
  if (!can('mail:send')) return null
  return (
    <>
      <Button size="sm" icon={Send} disabled={mail === null || !fields.from} onClick={() => setOpen(true)}>
        {campaigns.sendTest}
      </Button>
      <Dialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title={campaigns.sendTest}
        description={campaigns.testText}
        size="sm"
        onSubmit={submit}
        footer={
          <>
            <Button onClick={() => setOpen(false)}>{ui.cancel}</Button>
            <Button type="submit" variant="primary" isLoading={send.isPending}>
              {campaigns.sendTest}
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-4">
          {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
          <Field label={campaigns.testTo} error={errors.of('to')} isRequired>
            <TextInput type="email" value={to} onChange={setTo} />
          </Field>
        </div>
      </Dialog>
    </>
  )
}
