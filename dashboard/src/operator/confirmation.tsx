/** Every action of the operator says what will happen before it runs; a refusal is shown in the same dialog. */
import { useState, type ReactNode } from 'react'
import { ApiError, type Endpoint } from '#dashboard/src/api/endpoint.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

export interface Confirmation {
  readonly title: string
  readonly text: ReactNode
  /** The verb. */
  readonly label: string
  readonly isDanger?: boolean
  readonly typeToConfirm?: string
  readonly run: () => Promise<unknown>
}

/** `[ask, dialog]`: `ask` opens the dialog, which a page places anywhere. */
export function useConfirmation(): [(confirmation: Confirmation) => void, ReactNode] {
  const { operator } = useTexts()
  const [asked, setAsked] = useState<Confirmation | null>(null)
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const run = async (confirmation: Confirmation): Promise<void> => {
    setRunning(true)
    setError(null)
    try {
      await confirmation.run()
      setAsked(null)
    } catch (failure) {
      setError(failure instanceof ApiError ? failure.message : operator.refused)
    } finally {
      setRunning(false)
    }
  }
  const ask = (confirmation: Confirmation): void => {
    setError(null)
    setAsked(confirmation)
  }
  const dialog =
    asked === null ? null : (
      <ConfirmDialog
        isOpen
        onOpenChange={(open) => !open && setAsked(null)}
        title={asked.title}
        text={asked.text}
        confirmLabel={asked.label}
        isDanger={asked.isDanger}
        typeToConfirm={asked.typeToConfirm}
        onConfirm={() => void run(asked)}
        isLoading={isRunning}
        error={error}
      />
    )
  return [ask, dialog]
}

/** Runs an action and reports in the words of the server. The caller shows the failure. */
export function useOperatorAction<Input, Output extends { readonly message: string }>(
  endpoint: Endpoint<Input, Output>,
  invalidates: readonly string[],
): (input: Input) => Promise<Output> {
  const toast = useToast()
  const action = useAction(endpoint, {
    invalidates,
    onSuccess: ({ message }) => toast({ title: message, tone: 'success' }),
    onError: () => undefined,
  })
  return action.mutateAsync
}
