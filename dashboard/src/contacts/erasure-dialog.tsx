/** Erases a person: asks, then shows how far it is. The work goes on when the dialog is closed. */
import { useState, type ReactNode } from 'react'
import { erasePerson, getErasure } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'

const REFRESH_MS = 2000

export function ErasureDialog({ email, onClose }: { readonly email: string; readonly onClose: () => void }): ReactNode {
  const { contacts } = useTexts()
  const [id, setId] = useState<string | null>(null)
  const erase = useAction(erasePerson, { onSuccess: ({ data }) => setId(data.id) })
  if (id !== null) return <ErasureProgress id={id} onClose={onClose} />
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

function ErasureProgress({ id, onClose }: { readonly id: string; readonly onClose: () => void }): ReactNode {
  const { contacts } = useTexts()
  // no change stream reports erasures, and this dialog is open for seconds
  const [isDone, setDone] = useState(false)
  const { data } = useApi(getErasure, { query: { id } }, isDone ? {} : { refreshMs: REFRESH_MS })
  const erasure = data?.data
  if (erasure?.status === 'done' && !isDone) setDone(true)
  const count = Object.values(erasure?.deleted ?? {}).reduce((sum, one) => sum + one, 0)
  return (
    <Dialog isOpen onOpenChange={onClose} title={isDone ? contacts.erased : contacts.erasing} size="sm">
      <div className="flex flex-col gap-3">
        {!isDone && <Progress label={contacts.erasing} isLabelHidden share={null} />}
        <p className="text-muted">{contacts.erasedRows(count)}</p>
        {erasure?.is_waiting === true && <p>{contacts.erasureWaits}</p>}
        {erasure !== undefined && erasure.problem !== null && <p className="text-danger-text">{erasure.problem}</p>}
      </div>
    </Dialog>
  )
}
