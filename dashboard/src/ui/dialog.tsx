import { X } from './icons.tsx'
import { Dialog as RadixDialog } from 'radix-ui'
import { type FormEvent, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { IconButton } from './icon-button.tsx'
import { useUiTexts } from './ui-texts.ts'
import { useReturnFocus } from './use-return-focus.ts'

export interface DialogProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  title: string
  description?: ReactNode
  size?: 'sm' | 'md' | 'lg' | 'xl' | undefined
  /** Makes the content a form: Enter submits. The caller closes the dialog when it worked. */
  onSubmit?: (() => void) | undefined
  /** Buttons; the primary one last, with type="submit" in a form. */
  footer?: ReactNode
  children?: ReactNode
}

const WIDTHS = { sm: 'sm:max-w-sm', md: 'sm:max-w-lg', lg: 'sm:max-w-2xl', xl: 'sm:max-w-5xl' }
export const OVERLAY = 'fixed inset-0 z-40 animate-appear bg-overlay'

function Frame({ title, description, footer, children }: DialogProps) {
  const texts = useUiTexts()
  return (
    <>
      <div className="flex items-start justify-between gap-4 px-5 pt-4 pb-3">
        <div className="min-w-0">
          <RadixDialog.Title className="text-lg font-semibold text-ink">{title}</RadixDialog.Title>
          {description !== undefined && (
            <RadixDialog.Description asChild>
              <div className="mt-1 text-muted">{description}</div>
            </RadixDialog.Description>
          )}
        </div>
        <RadixDialog.Close asChild>
          <IconButton icon={X} label={texts.close} size="sm" hasTooltip={false} className="-mr-2" />
        </RadixDialog.Close>
      </div>
      {children !== undefined && <div className="min-h-0 overflow-y-auto px-5 py-1 pb-4">{children}</div>}
      {footer !== undefined && (
        <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>
      )}
    </>
  )
}

/** A short task above the page. Focus goes into it and back to where it was; Escape closes it. */
export function Dialog(props: DialogProps) {
  const returnFocus = useReturnFocus()
  const { isOpen, onOpenChange, description, size = 'md', onSubmit } = props
  const column = 'flex max-h-[inherit] min-h-0 flex-col'
  return (
    <RadixDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={OVERLAY} />
        <RadixDialog.Content
          {...returnFocus}
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
          className={cx(
            'fixed inset-x-0 bottom-0 z-40 mx-auto flex max-h-[90dvh] w-full animate-appear flex-col rounded-t-lg border border-line bg-raised shadow-lg outline-none',
            'sm:top-[10dvh] sm:bottom-auto sm:max-h-[80dvh] sm:w-[calc(100%-2rem)] sm:rounded-lg',
            WIDTHS[size],
          )}
        >
          {onSubmit === undefined ? (
            <div className={column}>
              <Frame {...props} />
            </div>
          ) : (
            <form
              noValidate
              className={column}
              onSubmit={(event: FormEvent) => {
                event.preventDefault()
                event.stopPropagation()
                onSubmit()
              }}
            >
              <Frame {...props} />
            </form>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  )
}
