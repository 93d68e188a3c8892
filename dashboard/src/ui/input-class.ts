import { cx } from './class-names.ts'
import { type Size } from './tone.ts'

/** The look of everything one types into or chooses from. */
export function inputClass(size: Size = 'md', more?: string): string {
  return cx(
    'w-full min-w-0 rounded-md border border-control bg-surface text-base text-ink transition-colors',
    'hover:border-muted focus-visible:border-accent focus-visible:outline-offset-0 aria-invalid:border-danger',
    'disabled:bg-sunken disabled:text-muted disabled:opacity-70 [&[readonly]]:bg-sunken',
    size === 'sm' ? 'h-7 px-2 pointer-coarse:h-9' : 'h-8 px-2.5 pointer-coarse:h-11 pointer-coarse:text-lg',
    more,
  )
}
