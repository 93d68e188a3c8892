import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { addSuppressions } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { readAddresses } from './suppression-kinds.ts'

const MOST = 1000

/** One address or many, with a reason for later readers of the list. */
export function AddSuppressionsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { suppressions: texts } = useTexts()
  const toast = useToast()
  const [text, setText] = useState('')
  const [reason, setReason] = useState('')
  const [error, setError] = useState<ApiError | null>(null)
  useFocusOnError(error)
  const addresses = readAddresses(text)
  const action = useAction(addSuppressions, {
    invalidates: ['/public/suppressions', '/public/contacts'],
    onSuccess: ({ data }) => {
      toast({ title: texts.addedToast(data.added, data.unchanged + data.strengthened), tone: 'success' })
      onClose()
    },
    onError: setError,
  })
  const errors = formErrors(error, ['suppressions', 'reason'])
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.addTitle}
      description={texts.addText}
      onSubmit={() => action.mutate({ body: { suppressions: addresses, reason: reason.trim() || null } })}
      footer={
        <Button
          type="submit"
          variant="primary"
          isLoading={action.isPending}
          disabled={addresses.length === 0 || addresses.length > MOST}
        >
          {texts.addMany(addresses.length)}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field
          label={texts.addresses}
          hint={texts.addressesHint}
          error={addresses.length > MOST ? texts.tooMany : errors.of('suppressions')}
          isRequired
        >
          <TextArea value={text} onChange={setText} rows={5} spellCheck={false} isMono />
        </Field>
        <Field label={texts.reason} hint={texts.reasonHint} isOptional error={errors.of('reason')}>
          <TextInput value={reason} onChange={setReason} />
        </Field>
      </div>
    </Dialog>
  )
}
