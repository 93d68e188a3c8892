/** Erases a person: asks, then shows how far it is. The work goes on when the dialog is closed. */
import type { ReactNode } from 'react'
import { erasePerson, getErasure } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'

interface ErasureDialogProps {
  readonly email: string
  /** An erasure with this id has begun. */
  readonly onErase: (id: string) => void
  readonly onClose: () => void
}

export function ErasureDialog({ email, onErase, onClose }: ErasureDialogProps): ReactNode {
  const { contacts } = useTexts()
  const erase = useAction(erasePerson, {
    onSuccess: ({ data }) => {
      onClose()
      onErase(data.id)
    },
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={contacts.eraseTitle}
      text={contacts.eraseText}
      confirmLabel={contacts.eraseConfirm}
      isDanger
      typeToConfirm={email}
      isLoading={erase.isPending}
      onConfirm={() => erase.mutate({ body: { email } })}
    />
  )
}

interface ErasureProgressProps {
  readonly id: string
  readonly onClose: (isDone: boolean) => void
}

/** Follows an erasure by the stream of changes, also from the address of a page that was opened again. */
export function ErasureProgress({ id, onClose }: ErasureProgressProps): ReactNode {
  const { contacts } = useTexts()
  const query = useApi(getErasure, { query: { id } })
  const erasure = query.data?.data
  const isDone = erasure?.status === 'done'
  const count = Object.values(erasure?.deleted ?? {}).reduce((sum, one) => sum + one, 0)
  return (
    <Dialog isOpen onOpenChange={() => onClose(isDone)} title={isDone ? contacts.erased : contacts.erasing} size="sm">
      <div className="flex flex-col gap-3">
        <FailedQuery query={query} title={contacts.erasureNotLoaded} />
        {!isDone && !query.isError && <Progress label={contacts.erasing} isLabelHidden share={null} />}
        {erasure !== undefined && <p className="text-muted">{contacts.erasedRows(count)}</p>}
        {erasure?.is_waiting === true && <p>{contacts.erasureWaits}</p>}
        {erasure !== undefined && erasure.problem !== null && <p className="text-danger-text">{erasure.problem}</p>}
      </div>
    </Dialog>
  )
}
