import { Upload } from './icons.tsx'
import { useId, useState, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface FileDropProps {
  onFiles: (files: File[]) => void
  /** As of an `<input type="file">`: `.csv,text/csv`. The server checks again. */
  accept?: string | undefined
  isMultiple?: boolean | undefined
  isDisabled?: boolean | undefined
  /** Which files, how large. */
  hint?: ReactNode
}

/** Takes files by dialog or drop. The field itself takes the keyboard. */
export function FileDrop({ onFiles, accept, isMultiple = false, isDisabled = false, hint }: FileDropProps) {
  const texts = useUiTexts()
  const { 'aria-labelledby': _, ...control } = useFieldControl()
  const ownId = useId()
  const [isOver, setOver] = useState(false)
  const id = control.id ?? ownId
  function take(list: FileList | null): void {
    const files = [...(list ?? [])]
    if (files.length > 0 && !isDisabled) onFiles(isMultiple ? files : files.slice(0, 1))
  }
  return (
    <label
      htmlFor={id}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer.files)
      }}
      className={cx(
        'flex flex-col items-center gap-2 rounded-lg border border-dashed p-6 text-center transition-colors hover:bg-hover',
        'has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
        isOver ? 'border-accent bg-accent-soft' : 'border-control bg-surface',
        isDisabled && 'pointer-events-none opacity-50',
      )}
    >
      <input
        {...control}
        id={id}
        type="file"
        className="sr-only"
        accept={accept}
        multiple={isMultiple}
        disabled={isDisabled}
        onChange={(event) => {
          take(event.target.files)
          event.target.value = ''
        }}
      />
      <Upload size={20} aria-hidden="true" className="text-faint" />
      <span>
        <span className="font-medium text-accent-text">{texts.chooseFile}</span> {texts.dropFile}
      </span>
      {hint !== undefined && <span className="text-sm text-muted">{hint}</span>}
    </label>
  )
}
