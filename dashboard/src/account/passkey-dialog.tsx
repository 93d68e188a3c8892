import { useState, type ReactNode } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { ApiError, send } from '#dashboard/src/api/endpoint.ts'
import { addPasskey, startPasskey } from '#dashboard/src/api/endpoints.ts'
import { invalidatePaths } from '#dashboard/src/api/queries.ts'
import { createPasskey } from '#dashboard/src/session/passkey.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { METHODS } from './method-paths.ts'

/** Adds a passkey: the browser asks for it, the server checks it. */
export function PasskeyDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { people, ui } = useTexts()
  const texts = people.account
  const toast = useToast()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [isPending, setPending] = useState(false)
  const add = async (): Promise<void> => {
    setError(null)
    setPending(true)
    try {
      const { data } = await send(startPasskey, {})
      const response = await createPasskey(data.options)
      await send(addPasskey, { body: { token: data.token, name: name.trim(), response: { ...response } } })
      toast({ title: texts.passkeyAdded })
      await invalidatePaths(client, METHODS)
      onClose()
    } catch (failure) {
      setError(failure instanceof ApiError ? failure.message : texts.passkeyCancelled)
      setPending(false)
    }
  }
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.addPasskey}
      onSubmit={() => void add()}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button variant="primary" type="submit" disabled={name.trim() === ''} isLoading={isPending}>
            {texts.addPasskey}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {error !== null && <Callout tone="danger">{error}</Callout>}
        <Field label={texts.passkeyName} hint={texts.passkeyHint} isRequired>
          <TextInput value={name} onChange={setName} maxLength={100} autoFocus />
        </Field>
      </div>
    </Dialog>
  )
}
