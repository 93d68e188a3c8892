import { X } from './icons.tsx'
import { Dialog as RadixDialog } from 'radix-ui'
import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { OVERLAY } from './dialog.tsx'
import { IconButton } from './icon-button.tsx'
import { useUiTexts } from './ui-texts.ts'
import { useReturnFocus } from './use-return-focus.ts'

export interface SheetProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  title: string
  isTitleHidden?: boolean | undefined
  side?: 'left' | 'right' | undefined
  footer?: ReactNode
  children: ReactNode
}

/** A drawer at the side: details beside a list, or the menu on phones. */
export function Sheet({ isOpen, onOpenChange, title, isTitleHidden, side = 'right', footer, children }: SheetProps) {
  const returnFocus = useReturnFocus()
  const texts = useUiTexts()
  return (
    <RadixDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={OVERLAY} />
        <RadixDialog.Content
          {...returnFocus}
          aria-describedby={undefined}
          className={cx(
            'fixed inset-y-0 z-40 flex w-[min(32rem,calc(100%-2rem))] flex-col border-line bg-raised shadow-lg outline-none',
            side === 'right' ? 'right-0 animate-slide-in border-l' : 'left-0 max-w-80 animate-appear border-r',
          )}
        >
          <div className="flex h-12 shrink-0 items-center justify-between gap-4 pr-3 pl-5">
            <RadixDialog.Title
              className={cx('truncate text-lg font-semibold text-ink', isTitleHidden === true && 'sr-only')}
            >
              {title}
            </RadixDialog.Title>
            <RadixDialog.Close asChild>
              <IconButton icon={X} label={texts.close} hasTooltip={false} className="ml-auto" />
            </RadixDialog.Close>
          </div>
          <div className="min-h-0 grow overflow-y-auto px-5 pb-5">{children}</div>
          {footer !== undefined && (
            <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  )
}
