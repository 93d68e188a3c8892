/** A dialog with fields for an action of the operator: it keeps what was typed when the server refuses it. */
import { useState, type ReactNode } from 'react'
import { ApiError } from '#dashboard/src/api/endpoint.ts'
import { formErrors, useFocusOnError, type FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'

interface ActionDialogProps {
  readonly title: string
  readonly text: string
  readonly label: string
  readonly isDanger?: boolean
  readonly isReady?: boolean
  /** Paths of the request whose errors the fields show. */
  readonly fields: readonly string[]
  readonly run: () => Promise<unknown>
  readonly onClose: () => void
  readonly children: (errors: FormErrors) => ReactNode
}

export function ActionDialog(props: ActionDialogProps): ReactNode {
  const { title, text, label, isDanger = false, isReady = true, fields, run, onClose, children } = props
  const { ui, operator } = useTexts()
  const [error, setError] = useState<ApiError | null>(null)
  const [isRunning, setRunning] = useState(false)
  useFocusOnError(error)
  const errors = formErrors(error, fields)
  const submit = async (): Promise<void> => {
    setRunning(true)
    try {
      await run()
      onClose()
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, { message: operator.refused }))
    } finally {
      setRunning(false)
    }
  }
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description={text}
      onSubmit={() => {
        if (isReady && !isRunning) void submit()
      }}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant={isDanger ? 'danger' : 'primary'} isLoading={isRunning} disabled={!isReady}>
            {label}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        {children(errors)}
      </div>
    </Dialog>
  )
}
