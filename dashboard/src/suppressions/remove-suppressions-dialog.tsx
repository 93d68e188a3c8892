import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { deleteSuppressions } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import type { SuppressionKind } from './suppression-kinds.ts'

interface RemoveSuppressionsDialogProps {
  readonly emails: readonly string[]
  readonly kinds: readonly SuppressionKind[]
  readonly onClose: () => void
  readonly onRemoved: () => void
}

/** Mail to the addresses goes out again, so the reader is warned by what put them on the list. */
export function RemoveSuppressionsDialog({
  emails,
  kinds,
  onClose,
  onRemoved,
}: RemoveSuppressionsDialogProps): ReactNode {
  const { suppressions: texts } = useTexts()
  const toast = useToast()
  const [error, setError] = useState<ApiError | null>(null)
  const action = useAction(deleteSuppressions, {
    invalidates: ['/public/suppressions', '/public/contacts'],
    onSuccess: ({ data }) => {
      toast({ title: texts.removedToast(data.removed) })
      onClose()
      onRemoved()
    },
    onError: setError,
  })
  const warnings = [...new Set(kinds)].flatMap((kind) => texts.removeWarnings[kind] ?? [])
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.removeTitle(emails.length)}
      onSubmit={() => action.mutate({ body: { suppressions: emails } })}
      footer={
        <Button type="submit" variant="danger" isLoading={action.isPending}>
          {texts.remove}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="text-muted">{texts.removeText}</p>
        {warnings.map((warning) => (
          <Callout key={warning} tone="warning">
            {warning}
          </Callout>
        ))}
        {error !== null && <Callout tone="danger">{error.message}</Callout>}
      </div>
    </Dialog>
  )
}
