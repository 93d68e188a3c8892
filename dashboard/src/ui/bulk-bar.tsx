import { X } from './icons.tsx'
import { type ReactNode } from 'react'
import { IconButton } from './icon-button.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface BulkBarProps {
  count: number
  onClear: () => void
  /** Buttons for the selected rows. */
  children: ReactNode
}

/** Actions for selected rows. It floats at the bottom, so that the table does not jump when it appears. */
export function BulkBar({ count, onClear, children }: BulkBarProps) {
  const texts = useUiTexts()
  return (
    <div className="pointer-events-none sticky bottom-4 z-20 flex justify-center px-2" role="status">
      {count > 0 && (
        <div className="pointer-events-auto -mt-12 flex max-w-full animate-appear flex-wrap items-center gap-2 rounded-lg border border-line-strong bg-raised py-1.5 pr-2 pl-4 shadow-lg">
          <span className="mr-2 font-medium tabular-nums">{texts.selected(count)}</span>
          {children}
          <IconButton size="sm" icon={X} label={texts.clearSelection} onClick={onClear} />
        </div>
      )}
    </div>
  )
}
