import { useState, type ReactNode } from 'react'
import { rotateApiKey, type ApiKey } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import type { NewSecret } from './keys-page.tsx'

const OVERLAPS = ['0', '3600', '86400', '604800', '2592000'] as const

interface RotateKeyDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
  readonly onSecret: (secret: NewSecret) => void
}

/** Replaces the secret of a key; the present one stays valid for a while. */
export function RotateKeyDialog({ apiKey, onClose, onSecret }: RotateKeyDialogProps): ReactNode {
  const { keys, ui } = useTexts()
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number]>('86400')
  const [error, setError] = useState<string | null>(null)
  const rotate = useAction(rotateApiKey, {
    invalidates: ['/public/api-keys'],
    onSuccess: ({ data }) =>
      onSecret({ title: keys.newSecretOf(apiKey.name), secret: data.secret_key, type: apiKey.type }),
    onError: ({ message }) => setError(message),
  })
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={keys.rotateTitle(apiKey.name)}
      description={keys.rotateText}
      onSubmit={() => rotate.mutate({ params: { id: apiKey.id }, body: { overlap_seconds: Number(overlap) } })}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={rotate.isPending}>
            {keys.rotate}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {error !== null && <Callout tone="danger">{error}</Callout>}
        <Field label={keys.overlap} hint={overlap === '0' ? keys.overlapNone : keys.overlapHint}>
          <Select
            value={overlap}
            onChange={setOverlap}
            options={OVERLAPS.map((value) => ({ value, label: keys.overlaps[value] }))}
          />
        </Field>
      </div>
    </Dialog>
  )
}
