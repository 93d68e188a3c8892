import { Command } from 'cmdk'
import { Check, ChevronsUpDown } from './icons.tsx'
import { Popover } from 'radix-ui'
import { useEffect, useId, useState, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'
import { inputClass } from './input-class.ts'
import { Spinner } from './spinner.tsx'
import { type Size } from './tone.ts'
import { useUiTexts } from './ui-texts.ts'
import { useDebounced } from './use-debounced.ts'

export interface ComboboxOption {
  value: string
  label: string
  description?: ReactNode
}

export interface ComboboxProps {
  value: ComboboxOption | null
  onChange: (option: ComboboxOption) => void
  /** Finds options for a text (empty: the first ones). Pass the same function in each render. */
  search: (text: string, signal: AbortSignal) => Promise<readonly ComboboxOption[]>
  placeholder?: string | undefined
  label?: string | undefined
  size?: Size | undefined
  isDisabled?: boolean | undefined
}

type Found = { text: string; options: readonly ComboboxOption[]; hasFailed: boolean }

function useSearch(search: ComboboxProps['search'], text: string, isOpen: boolean): Found | null {
  const [found, setFound] = useState<Found | null>(null)
  const wanted = useDebounced(text, 150)
  useEffect(() => {
    if (!isOpen) return undefined
    const controller = new AbortController()
    search(wanted, controller.signal).then(
      (options) => {
        if (!controller.signal.aborted) setFound({ text: wanted, options, hasFailed: false })
      },
      () => {
        if (!controller.signal.aborted) setFound({ text: wanted, options: [], hasFailed: true })
      },
    )
    return () => controller.abort()
  }, [search, wanted, isOpen])
  return found
}

function Results({ found, isWaiting, ...props }: ComboboxProps & { found: Found | null; isWaiting: boolean }) {
  const texts = useUiTexts()
  return (
    <Command.List className="max-h-72 overflow-y-auto p-1" aria-busy={isWaiting}>
      {found?.options.map((option) => (
        <Command.Item
          key={option.value}
          value={option.value}
          onSelect={() => props.onChange(option)}
          className="flex min-h-8 cursor-default items-start gap-2 rounded-sm px-2.5 py-1.5 data-[selected=true]:bg-hover pointer-coarse:min-h-11 pointer-coarse:py-3"
        >
          <Check
            size={14}
            aria-hidden="true"
            className={cx('mt-0.5 shrink-0 text-accent-text', props.value?.value !== option.value && 'invisible')}
          />
          <span className="min-w-0">
            <span className="block truncate">{option.label}</span>
            {option.description !== undefined && <span className="block text-sm text-muted">{option.description}</span>}
          </span>
        </Command.Item>
      ))}
      {found !== null && found.options.length === 0 && !isWaiting && (
        <Command.Empty className="px-2.5 py-4 text-center text-sm text-muted">
          {found.hasFailed ? texts.searchFailed : texts.noResults}
        </Command.Empty>
      )}
      {found === null && (
        <div className="flex justify-center py-4">
          <Spinner />
        </div>
      )}
    </Command.List>
  )
}

/** One of many values, found by typing. The search may be remote: older answers never replace newer ones. */
export function Combobox(props: ComboboxProps) {
  const { value, onChange, search, placeholder = '–', label, size, isDisabled } = props
  const { required: _, 'aria-labelledby': labelledBy, ...aria } = useFieldControl()
  const valueId = useId()
  const texts = useUiTexts()
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const found = useSearch(search, text, isOpen)
  return (
    <Popover.Root
      open={isOpen}
      onOpenChange={(next) => {
        setOpen(next)
        if (next) setText('')
      }}
    >
      <Popover.Trigger
        {...aria}
        aria-label={label === undefined ? undefined : `${label}: ${value?.label ?? placeholder}`}
        aria-labelledby={label === undefined && labelledBy !== undefined ? `${labelledBy} ${valueId}` : undefined}
        disabled={isDisabled === true}
        className={inputClass(size, 'flex items-center justify-between gap-2 text-left')}
      >
        <span id={valueId} className={cx('truncate', value === null && 'text-faint')}>
          {value?.label ?? placeholder}
        </span>
        <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-faint" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={4}
          collisionPadding={8}
          aria-label={label ?? texts.search}
          className="z-50 w-(--radix-popover-trigger-width) min-w-64 animate-appear rounded-lg border border-line bg-raised shadow-lg"
        >
          <Command shouldFilter={false} label={label ?? texts.search}>
            <div className="relative border-b border-line">
              <Command.Input
                value={text}
                onValueChange={setText}
                placeholder={texts.search}
                className="h-9 w-full rounded-t-lg bg-transparent px-3 text-base outline-offset-[-2px]"
              />
            </div>
            <Results
              {...props}
              found={found}
              isWaiting={found?.text !== text}
              onChange={(option) => {
                onChange(option)
                setOpen(false)
              }}
            />
          </Command>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}
