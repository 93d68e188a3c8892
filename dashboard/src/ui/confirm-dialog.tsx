import { AlertDialog } from 'radix-ui'
import { useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { OVERLAY } from './dialog.tsx'
import { Field } from './field.tsx'
import { TextInput } from './text-input.tsx'
import { useUiTexts } from './ui-texts.ts'
import { useReturnFocus } from './use-return-focus.ts'

export interface ConfirmDialogProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  title: string
  /** What happens, to what, and whether it can be undone. */
  text: ReactNode
  /** The verb: `Delete the domain`. */
  confirmLabel: string
  onConfirm: () => void
  isDanger?: boolean | undefined
  isLoading?: boolean | undefined
  /** The reader types this first: for what cannot be undone. */
  typeToConfirm?: string | undefined
  error?: ReactNode
}

function Content(props: ConfirmDialogProps) {
  const { title, text, confirmLabel, onConfirm, isDanger = false, isLoading, typeToConfirm, error } = props
  const texts = useUiTexts()
  const [typed, setTyped] = useState('')
  const isReady = typeToConfirm === undefined || typed.trim() === typeToConfirm
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        event.stopPropagation()
        if (isReady && isLoading !== true) onConfirm()
      }}
    >
      <div className="flex flex-col gap-3 px-5 pt-4 pb-5">
        <AlertDialog.Title className="text-lg font-semibold text-ink">{title}</AlertDialog.Title>
        <AlertDialog.Description asChild>
          <div className="text-muted">{text}</div>
        </AlertDialog.Description>
        {typeToConfirm !== undefined && (
          <Field label={texts.typeToConfirm(typeToConfirm)}>
            <TextInput value={typed} onChange={setTyped} spellCheck={false} autoCapitalize="none" />
          </Field>
        )}
        {error !== undefined && error !== null && (
          <p role="alert" className="text-danger-text">
            {error}
          </p>
        )}
      </div>
      <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">
        <AlertDialog.Cancel asChild>
          <Button>{texts.cancel}</Button>
        </AlertDialog.Cancel>
        <Button type="submit" variant={isDanger ? 'danger' : 'primary'} isLoading={isLoading} disabled={!isReady}>
          {confirmLabel}
        </Button>
      </div>
    </form>
  )
}

/** Asks before something that is hard to undo. The focus starts on Cancel; the caller closes it when it worked. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const returnFocus = useReturnFocus()
  return (
    <AlertDialog.Root open={props.isOpen} onOpenChange={props.onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={OVERLAY} />
        <AlertDialog.Content
          {...returnFocus}
          className="fixed inset-x-4 top-[15dvh] z-40 mx-auto max-h-[80dvh] max-w-md animate-appear overflow-y-auto rounded-lg border border-line bg-raised shadow-lg outline-none"
        >
          <Content {...props} />
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
