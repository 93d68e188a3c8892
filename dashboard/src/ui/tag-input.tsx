import { X } from './icons.tsx'
import { useState } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface TagInputProps {
  value: readonly string[]
  onChange: (value: string[]) => void
  placeholder?: string | undefined
  label?: string | undefined
  /** false: the text stays in the field, marked as invalid. */
  isValid?: ((tag: string) => boolean) | undefined
}

/** Several short texts. Enter, comma and paste add them; Backspace in the empty field removes the last. */
export function TagInput({ value, onChange, placeholder, label, isValid = () => true }: TagInputProps) {
  const { 'aria-labelledby': labelledBy, ...control } = useFieldControl()
  const texts = useUiTexts()
  const [text, setText] = useState('')
  const [isWrong, setWrong] = useState(false)
  function add(raw: string): void {
    const tags = raw
      .split(/[,;\n\t]/)
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '')
    const wrong = tags.filter((tag) => !isValid(tag))
    const next = [...new Set([...value, ...tags.filter((tag) => isValid(tag))])]
    if (next.length !== value.length) onChange(next)
    setText(wrong.join(', '))
    setWrong(wrong.length > 0)
  }
  return (
    <div
      className={cx(
        'flex min-h-8 w-full flex-wrap items-center gap-1 rounded-md border bg-surface px-1 py-0.5 pointer-coarse:min-h-11',
        'focus-within:border-accent focus-within:outline-2 focus-within:outline-accent',
        isWrong || control['aria-invalid'] === true ? 'border-danger' : 'border-control',
      )}
    >
      {value.map((tag) => (
        <span key={tag} className="inline-flex max-w-full items-center rounded-sm bg-sunken pl-2 text-sm text-ink">
          <span className="truncate">{tag}</span>
          <button
            type="button"
            aria-label={texts.remove(tag)}
            onClick={() => onChange(value.filter((other) => other !== tag))}
            className="flex size-6 items-center justify-center rounded-sm text-faint hover:text-ink"
          >
            <X size={12} aria-hidden="true" />
          </button>
        </span>
      ))}
      <input
        {...control}
        required={control.required === true && value.length === 0}
        aria-labelledby={label === undefined ? labelledBy : undefined}
        aria-label={label}
        aria-invalid={isWrong || control['aria-invalid']}
        value={text}
        placeholder={value.length === 0 ? placeholder : undefined}
        onChange={(event) => {
          setWrong(false)
          if (/[,;\n]$/.test(event.target.value)) add(event.target.value)
          else setText(event.target.value)
        }}
        onPaste={(event) => {
          const pasted = event.clipboardData.getData('text')
          if (!/[,;\n\t]/.test(pasted)) return
          event.preventDefault()
          add(text + pasted)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && text.trim() !== '') {
            event.preventDefault()
            add(text)
          } else if (event.key === 'Backspace' && text === '') onChange(value.slice(0, -1))
        }}
        onBlur={() => add(text)}
        className="h-6 w-16 grow bg-transparent px-1.5 text-base outline-none pointer-coarse:h-9 pointer-coarse:text-lg"
      />
    </div>
  )
}
