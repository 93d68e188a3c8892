import { Check, ChevronDown } from './icons.tsx'
import { Select as RadixSelect } from 'radix-ui'
import { type ReactNode } from 'react'
import { readCspNonce } from './csp-nonce.ts'
import { useFieldControl } from './field.tsx'
import { inputClass } from './input-class.ts'
import { type Size } from './tone.ts'

export interface SelectOption<Value extends string = string> {
  /** Not empty. */
  value: Value
  label: string
  description?: ReactNode
  isDisabled?: boolean | undefined
}

export interface SelectGroup<Value extends string = string> {
  label: string
  options: readonly SelectOption<Value>[]
}

export interface SelectProps<Value extends string = string> {
  value: Value | null
  onChange: (value: Value) => void
  options?: readonly SelectOption<Value>[] | undefined
  groups?: readonly SelectGroup<Value>[] | undefined
  placeholder?: string | undefined
  /** The name, where no Field is around it. */
  label?: string | undefined
  size?: Size | undefined
  isDisabled?: boolean | undefined
  className?: string | undefined
}

const ITEM =
  'relative flex min-h-8 cursor-default items-start rounded-sm py-1.5 pr-3 pl-8 text-base outline-none select-none ' +
  'data-[highlighted]:bg-hover data-[disabled]:opacity-50 pointer-coarse:min-h-11 pointer-coarse:py-3'

function Option({ option }: { option: SelectOption }) {
  return (
    <RadixSelect.Item value={option.value} disabled={option.isDisabled === true} className={ITEM}>
      <RadixSelect.ItemIndicator className="absolute left-2.5 mt-0.5 text-accent-text">
        <Check size={14} aria-hidden="true" />
      </RadixSelect.ItemIndicator>
      <span className="min-w-0">
        <RadixSelect.ItemText>{option.label}</RadixSelect.ItemText>
        {option.description !== undefined && <span className="block text-sm text-muted">{option.description}</span>}
      </span>
    </RadixSelect.Item>
  )
}

/** One of a few fixed values. For long or remote lists, use Combobox. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { value, onChange, options = [], groups = [], placeholder = '–', label, size, isDisabled, className } = props
  const control = useFieldControl()
  const { required, ...aria } = control
  return (
    <RadixSelect.Root
      value={value ?? ''}
      onValueChange={(next) => onChange(next as Value)}
      disabled={isDisabled === true}
      required={required === true}
    >
      <RadixSelect.Trigger
        {...aria}
        {...(label === undefined ? {} : { 'aria-label': label })}
        className={inputClass(
          size,
          `group flex items-center justify-between gap-2 text-left data-[placeholder]:text-faint ${className ?? ''}`,
        )}
      >
        <span className="truncate">
          <RadixSelect.Value placeholder={placeholder} />
        </span>
        <ChevronDown size={14} aria-hidden="true" className="shrink-0 text-faint" />
      </RadixSelect.Trigger>
      <RadixSelect.Portal>
        <RadixSelect.Content
          position="popper"
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-(--radix-select-content-available-height) max-w-96 min-w-(--radix-select-trigger-width) animate-appear overflow-hidden rounded-lg border border-line bg-raised shadow-lg"
        >
          <RadixSelect.Viewport nonce={readCspNonce()} className="p-1">
            {options.map((option) => (
              <Option key={option.value} option={option} />
            ))}
            {groups.map((group) => (
              <RadixSelect.Group key={group.label}>
                <RadixSelect.Label className="px-2.5 pt-2 pb-1 text-xs font-medium text-faint">
                  {group.label}
                </RadixSelect.Label>
                {group.options.map((option) => (
                  <Option key={option.value} option={option} />
                ))}
              </RadixSelect.Group>
            ))}
          </RadixSelect.Viewport>
        </RadixSelect.Content>
      </RadixSelect.Portal>
    </RadixSelect.Root>
  )
}
