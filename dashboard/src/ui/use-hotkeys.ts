import { useEffect, useRef } from 'react'

/** `'mod+k'` (Ctrl, or Command on a Mac), `'?'`, `'g m'` (one after the other), `'Escape'`. */
export type Hotkeys = Record<string, (event: KeyboardEvent) => void>

const SEQUENCE_MS = 1000
const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

function nameKey(event: KeyboardEvent): string {
  const mod = (isMac ? event.metaKey : event.ctrlKey) ? 'mod+' : ''
  const shift = event.shiftKey && event.key.length > 1 ? 'shift+' : ''
  return `${mod}${shift}${event.key.length === 1 ? event.key.toLowerCase() : event.key}`
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))
  )
}

/** Calls the function of a key. While a person types, in dialogs and in menus, only combinations with mod work. */
export function useHotkeys(hotkeys: Hotkeys, isEnabled = true): void {
  const current = useRef(hotkeys)
  useEffect(() => {
    current.current = hotkeys
  })
  useEffect(() => {
    if (!isEnabled) return undefined
    let first = ''
    let firstAt = 0
    function onKeyDown(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing || event.altKey) return
      const key = nameKey(event)
      const isBusy = isTyping(event.target) || document.querySelector('[role=dialog], [role=menu]') !== null
      if (isBusy && !key.startsWith('mod+')) return
      const sequence = event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${key}` : key
      first = key
      firstAt = event.timeStamp
      const action = current.current[sequence] ?? current.current[key]
      if (action === undefined) return
      event.preventDefault()
      first = ''
      action(event)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [isEnabled])
}
