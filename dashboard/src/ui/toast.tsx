import { CircleAlert, CircleCheck, Info, TriangleAlert, X } from './icons.tsx'
import { Toast as RadixToast } from 'radix-ui'
import { createContext, use, useCallback, useState, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { IconButton } from './icon-button.tsx'
import { TEXT } from './tone.ts'
import { useUiTexts } from './ui-texts.ts'

type ToastTone = 'success' | 'info' | 'warning' | 'danger'

export interface ToastMessage {
  title: string
  text?: ReactNode
  tone?: ToastTone | undefined
  /** Undo, or the way to the result. */
  action?: { label: string; onClick: () => void } | undefined
  /** Errors stay 10 s, others 5 s, those with an action 8 s. Pointer and focus stop the clock. */
  seconds?: number | undefined
}

type ShowToast = (message: ToastMessage) => void

const ToastContext = createContext<ShowToast>(() => {})
const ICONS = { success: CircleCheck, info: Info, warning: TriangleAlert, danger: CircleAlert }
const MAX_VISIBLE = 4

/** `toast({ title: 'Domain deleted', action: { label: 'Undo', onClick } })` */
export function useToast(): ShowToast {
  return use(ToastContext)
}

let lastId = 0

/** Escape closes the message, as the uppermost layer. It is meant for the dialog that is open, so that gets it, too. */
function passEscapeOn({ target }: KeyboardEvent): void {
  if (!(target instanceof Element) || target.closest('[role="dialog"], [role="alertdialog"]') === null) return
  setTimeout(() =>
    target.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true })),
  )
}

function ToastItem({ message, onClose }: { message: ToastMessage; onClose: () => void }) {
  const texts = useUiTexts()
  const { title, text, tone = 'success', action } = message
  const Icon = ICONS[tone]
  const seconds = message.seconds ?? (tone === 'danger' ? 10 : action === undefined ? 5 : 8)
  return (
    <RadixToast.Root
      type={tone === 'danger' ? 'foreground' : 'background'}
      duration={seconds * 1000}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose()
      }}
      onEscapeKeyDown={passEscapeOn}
      className="flex animate-appear items-start gap-3 rounded-lg border border-line bg-raised py-3 pr-2 pl-4 shadow-lg data-[swipe=move]:translate-x-(--radix-toast-swipe-move-x)"
    >
      <Icon size={16} aria-hidden="true" className={cx('mt-0.5 shrink-0', TEXT[tone])} />
      <div className="min-w-0 grow">
        <RadixToast.Title className="font-medium text-ink">{title}</RadixToast.Title>
        {text !== undefined && <RadixToast.Description className="mt-0.5 text-muted">{text}</RadixToast.Description>}
      </div>
      {action !== undefined && (
        <RadixToast.Action asChild altText={action.label}>
          <button
            type="button"
            onClick={action.onClick}
            className="-my-0.5 h-6 shrink-0 rounded-sm px-1.5 font-medium text-accent-text hover:bg-hover"
          >
            {action.label}
          </button>
        </RadixToast.Action>
      )}
      <RadixToast.Close asChild>
        <IconButton icon={X} label={texts.dismiss} size="sm" hasTooltip={false} className="-my-1" />
      </RadixToast.Close>
    </RadixToast.Root>
  )
}

/** Around the app once. Messages are announced politely; F8 moves the focus to them. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const texts = useUiTexts()
  const [messages, setMessages] = useState<readonly (ToastMessage & { id: number })[]>([])
  const show = useCallback<ShowToast>((message) => {
    lastId += 1
    const added = { ...message, id: lastId }
    setMessages((old) => [...old.slice(1 - MAX_VISIBLE), added])
  }, [])
  return (
    <ToastContext value={show}>
      <RadixToast.Provider swipeDirection="right" label={texts.notifications}>
        {children}
        {messages.map((message) => (
          <ToastItem
            key={message.id}
            message={message}
            onClose={() => setMessages((old) => old.filter((other) => other.id !== message.id))}
          />
        ))}
        <RadixToast.Viewport
          label={`${texts.notifications} (F8)`}
          className="fixed right-0 bottom-0 z-50 flex w-full max-w-md flex-col gap-2 p-4 outline-none"
        />
      </RadixToast.Provider>
    </ToastContext>
  )
}
