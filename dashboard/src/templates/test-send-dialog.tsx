/** Sends the saved version to the author, marked as a test. */
import { useState, type ReactNode } from 'react'
import { getDomains, testTemplate } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useSession } from '#dashboard/src/session/session.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

interface TestSendDialogProps {
  readonly templateId: string
  readonly contactId: string | null
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function TestSendDialog({ templateId, contactId, isOpen, onClose }: TestSendDialogProps): ReactNode {
  const { templates, ui } = useTexts()
  const me = useSession()
  const path = useWorkspacePath()
  const toast = useToast()
  const list = useApi(getDomains, { query: { limit: 100 } }, { isEnabled: isOpen })
  const verified = (list.data?.data ?? []).filter(({ status }) => status === 'verified').map(({ domain }) => domain)
  const [typedFrom, setFrom] = useState<string | null>(null)
  const from = typedFrom ?? (verified[0] === undefined ? '' : `hello@${verified[0]}`)
  const [to, setTo] = useState(me.user.email)
  const test = useAction(testTemplate, {
    invalidates: ['/public/emails'],
    onError: () => undefined,
    onSuccess: () => {
      toast({ tone: 'success', title: templates.testSent(to) })
      onClose()
    },
  })
  useFocusOnError(test.error)
  const errors = formErrors(test.error, ['from', 'to'])
  const body = { from, to: [to], ...(contactId === null ? {} : { contact_id: contactId }) }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(isShown) => {
        if (!isShown) onClose()
      }}
      title={templates.testTitle}
      description={templates.testText}
      onSubmit={() => test.mutate({ params: { id: templateId }, body })}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={test.isPending}>
            {templates.testSend}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {list.data !== undefined && verified.length === 0 && (
          <Callout tone="warning">
            {templates.noDomain} <LinkText href={path('/domains')}>{templates.addDomain}</LinkText>
          </Callout>
        )}
        <Field
          label={templates.from}
          hint={verified.length === 0 ? undefined : templates.fromHint(verified.join(', '))}
          error={errors.of('from')}
          isRequired
        >
          <TextInput type="email" value={from} onChange={setFrom} />
        </Field>
        <Field label={templates.to} error={errors.of('to')} isRequired>
          <TextInput type="email" value={to} onChange={setTo} />
        </Field>
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      </div>
    </Dialog>
  )
}
