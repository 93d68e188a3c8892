import { useState, type ReactNode } from 'react'
import { addSuppressions } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

interface SuppressDialogProps {
  readonly address: string
  readonly onClose: () => void
}

/** Puts the address of a recipient on the suppression list, with a reason for colleagues. */
export function SuppressDialog({ address, onClose }: SuppressDialogProps): ReactNode {
  const { messages, shell } = useTexts()
  const toast = useToast()
  const [reason, setReason] = useState('')
  const [error, setError] = useState<string | null>(null)
  const add = useAction(addSuppressions, {
    invalidates: ['/public/suppressions', '/public/emails'],
    onSuccess: () => {
      toast({ title: messages.suppressed(address) })
      onClose()
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={messages.suppressTitle(address)}
      description={messages.suppressText}
      onSubmit={() => add.mutate({ body: { email: address, kind: 'manual', ...(reason === '' ? {} : { reason }) } })}
      footer={
        <>
          <Button onClick={onClose}>{shell.cancel}</Button>
          <Button type="submit" variant="danger" isLoading={add.isPending}>
            {messages.suppress}
          </Button>
        </>
      }
    >
      <Field label={messages.suppressReason} isOptional error={error}>
        <TextInput value={reason} onChange={setReason} />
      </Field>
    </Dialog>
  )
}
