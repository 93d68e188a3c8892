import { Popover as RadixPopover } from 'radix-ui'
import { type ReactNode } from 'react'

export interface PopoverProps {
  /** One button. */
  trigger: ReactNode
  label: string
  align?: 'start' | 'center' | 'end' | undefined
  isOpen?: boolean | undefined
  onOpenChange?: ((isOpen: boolean) => void) | undefined
  children: ReactNode
}

/** A small panel at a button, for forms and details that need no dialog. */
export function Popover({ trigger, label, align = 'start', isOpen, onOpenChange, children }: PopoverProps) {
  return (
    <RadixPopover.Root
      {...(isOpen === undefined ? {} : { open: isOpen })}
      {...(onOpenChange === undefined ? {} : { onOpenChange })}
    >
      <RadixPopover.Trigger asChild>{trigger}</RadixPopover.Trigger>
      <RadixPopover.Portal>
        <RadixPopover.Content
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 w-72 max-w-[calc(100vw-1rem)] animate-appear rounded-lg border border-line bg-raised p-3 shadow-lg"
        >
          {children}
        </RadixPopover.Content>
      </RadixPopover.Portal>
    </RadixPopover.Root>
  )
}
