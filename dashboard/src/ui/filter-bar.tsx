import { ListFilter, X } from './icons.tsx'
import { useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Menu } from './menu.tsx'
import { Popover } from './popover.tsx'
import { TextInput } from './text-input.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface FilterDefinition {
  key: string
  label: string
  /** Values to choose from; without them, a text. */
  options?: readonly { value: string; label: string }[] | undefined
  placeholder?: string | undefined
}

export interface FilterBarProps {
  filters: readonly FilterDefinition[]
  /** Set filters by key, as in the page's address. */
  value: Readonly<Record<string, string>>
  onChange: (value: Record<string, string>) => void
  /** A SearchInput before the chips. */
  search?: ReactNode
  /** Beside them: time range, export. */
  actions?: ReactNode
}

interface EditorProps {
  filter: FilterDefinition
  initial: string
  onApply: (value: string) => void
}

function TextEditor({ filter, initial, onApply }: EditorProps) {
  const texts = useUiTexts()
  const [text, setText] = useState(initial)
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') onApply(text.trim())
      }}
    >
      <Field label={filter.label}>
        <TextInput value={text} onChange={setText} placeholder={filter.placeholder} />
      </Field>
      <Button type="submit" variant="primary" size="sm" className="self-end">
        {texts.apply}
      </Button>
    </form>
  )
}

function Chip({ filter, initial, onApply, onRemove }: EditorProps & { onRemove: () => void }) {
  const texts = useUiTexts()
  const [isOpen, setOpen] = useState(initial === '')
  const shown = filter.options?.find((option) => option.value === initial)?.label ?? initial
  const trigger = (
    <button type="button" className="flex h-full min-w-0 items-center gap-1.5 rounded-l-md pr-1 pl-2.5 hover:bg-hover">
      <span className="text-muted">{filter.label}</span>
      <span className="max-w-48 truncate font-medium text-ink">{shown === '' ? '…' : shown}</span>
    </button>
  )
  return (
    <span className="inline-flex h-8 max-w-full items-center rounded-md border border-line-strong bg-surface text-sm pointer-coarse:h-11">
      {filter.options === undefined ? (
        <Popover
          trigger={trigger}
          label={filter.label}
          isOpen={isOpen}
          onOpenChange={(next) => {
            setOpen(next)
            if (!next && initial === '') onRemove()
          }}
        >
          <TextEditor
            filter={filter}
            initial={initial}
            onApply={(value) => {
              setOpen(false)
              onApply(value)
            }}
          />
        </Popover>
      ) : (
        <Menu
          align="start"
          trigger={trigger}
          groups={[
            {
              items: filter.options.map((option) => ({
                label: option.label,
                isChecked: option.value === initial,
                onSelect: () => onApply(option.value),
              })),
            },
          ]}
        />
      )}
      <button
        type="button"
        aria-label={texts.remove(filter.label)}
        onClick={onRemove}
        className="flex h-full w-7 items-center justify-center rounded-r-md text-faint hover:bg-hover hover:text-ink pointer-coarse:w-10"
      >
        <X size={12} aria-hidden="true" />
      </button>
    </span>
  )
}

/** The filters of a list as chips. The caller keeps them in the page's address. */
export function FilterBar({ filters, value, onChange, search, actions }: FilterBarProps) {
  const texts = useUiTexts()
  const [pending, setPending] = useState<string | null>(null)
  const shown = filters.filter((filter) => value[filter.key] !== undefined || filter.key === pending)
  const addable = filters.filter((filter) => !shown.includes(filter))
  function remove(key: string): void {
    setPending(null)
    onChange(Object.fromEntries(Object.entries(value).filter(([other]) => other !== key)))
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      {search !== undefined && <div className="w-full sm:w-64">{search}</div>}
      {shown.map((filter) => (
        <Chip
          key={filter.key}
          filter={filter}
          initial={value[filter.key] ?? ''}
          onApply={(next) => {
            setPending(null)
            onChange({ ...value, [filter.key]: next })
          }}
          onRemove={() => remove(filter.key)}
        />
      ))}
      {addable.length > 0 && (
        <Menu
          align="start"
          trigger={<Button icon={ListFilter}>{texts.addFilter}</Button>}
          groups={[
            {
              items: addable.map((filter) => ({
                label: filter.label,
                onSelect: () => {
                  const first = filter.options?.[0]
                  if (first === undefined) setPending(filter.key)
                  else onChange({ ...value, [filter.key]: first.value })
                },
              })),
            },
          ]}
        />
      )}
      {Object.keys(value).length > 1 && (
        <Button variant="ghost" onClick={() => onChange({})}>
          {texts.clearFilter}
        </Button>
      )}
      {actions !== undefined && <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  )
}
