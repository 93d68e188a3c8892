import { Search, X } from './icons.tsx'
import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { IconButton } from './icon-button.tsx'
import { Spinner } from './spinner.tsx'
import { TextInput, type TextInputProps } from './text-input.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface SearchInputProps extends Omit<TextInputProps, 'type' | 'prefix' | 'suffix'> {
  label: string
  isSearching?: boolean | undefined
  /** Shown while the field is empty: a `<Kbd>`. */
  shortcut?: ReactNode
}

/** A search text. Escape empties it. */
export function SearchInput({ label, isSearching, shortcut, className, onChange, ...rest }: SearchInputProps) {
  const texts = useUiTexts()
  return (
    <div className={cx('relative min-w-0', className)}>
      <span className="pointer-events-none absolute inset-y-0 left-2.5 flex items-center text-faint">
        {isSearching === true ? <Spinner size={14} isDecorative /> : <Search size={14} aria-hidden="true" />}
      </span>
      <TextInput
        aria-label={label}
        placeholder={label}
        enterKeyHint="search"
        role="searchbox"
        {...rest}
        onChange={onChange}
        className="pr-9 pl-8"
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || rest.value === '') return
          event.stopPropagation()
          onChange('')
        }}
      />
      <span className="absolute inset-y-0 right-0.5 flex items-center">
        {rest.value === '' ? (
          shortcut !== undefined && <span className="mr-1.5">{shortcut}</span>
        ) : (
          <IconButton size="sm" hasTooltip={false} icon={X} label={texts.clear} onClick={() => onChange('')} />
        )}
      </span>
    </div>
  )
}
