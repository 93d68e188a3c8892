import { Check, Copy } from './icons.tsx'
import { useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { IconButton } from './icon-button.tsx'
import { type Size } from './tone.ts'
import { useUiTexts } from './ui-texts.ts'

/** `[isCopied, copy]`. Pages without https have no clipboard API; there a hidden field copies. */
export function useCopy(text: string): [boolean, () => void] {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [isCopied])
  return [
    isCopied,
    () => {
      void writeClipboard(text).then(setCopied)
    },
  ]
}

async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyByField(text)
  }
}

function copyByField(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'sr-only'
  const focused = document.activeElement
  ;(focused?.closest('[role=dialog]') ?? document.body).append(field)
  field.select()
  // the only way on pages without https
  // oxlint-disable-next-line typescript/no-deprecated
  const isDone = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isDone
}

export interface CopyButtonProps {
  text: string
  /** Names what is copied, for screen readers and as tooltip. */
  label?: string | undefined
  size?: Size | undefined
  /** Shows the label beside the icon. */
  hasText?: boolean | undefined
}

export function CopyButton({ text, label, size = 'sm', hasText = false }: CopyButtonProps) {
  const texts = useUiTexts()
  const [isCopied, copy] = useCopy(text)
  const name = isCopied ? texts.copied : (label ?? texts.copy)
  const icon = isCopied ? Check : Copy
  return (
    <>
      {hasText ? (
        <Button size={size} icon={icon} onClick={copy}>
          {name}
        </Button>
      ) : (
        <IconButton size={size} icon={icon} label={name} onClick={copy} />
      )}
      <span role="status" className="sr-only">
        {isCopied ? texts.copied : ''}
      </span>
    </>
  )
}
