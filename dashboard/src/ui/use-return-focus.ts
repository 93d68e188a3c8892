import { useRef } from 'react'

/** Attributes for the content of a dialog without a trigger: when it closes, the focus goes back to where it was. */
export function useReturnFocus(): { onOpenAutoFocus: () => void; onCloseAutoFocus: (event: Event) => void } {
  const origin = useRef<Element | null>(null)
  return {
    onOpenAutoFocus: () => {
      origin.current = document.activeElement
    },
    onCloseAutoFocus: (event) => {
      event.preventDefault()
      if (origin.current instanceof HTMLElement && origin.current.isConnected) origin.current.focus()
    },
  }
}
