import { cx } from './class-names.ts'
import { SOFT, type Tone } from './tone.ts'

const TONES: readonly Tone[] = ['accent', 'success', 'warning', 'danger', 'info', 'neutral']

function listInitials(name: string): string {
  const words = name
    .replace(/@.*/, '')
    .split(/[\s._-]+/)
    .filter(Boolean)
  return words
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 32))
    .join('')
    .toUpperCase()
}

/** Initials on a colour that stays the same for a name. The name itself stands beside it. */
export function Avatar({ name, size = 'md' }: { name: string; size?: 'sm' | 'md' | 'lg' }) {
  let sum = 0
  for (const char of name) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 997
  const sizes = { sm: 'size-6 text-xs', md: 'size-8 text-xs', lg: 'size-10 text-base' }
  return (
    <span
      aria-hidden="true"
      className={cx(
        'inline-flex shrink-0 items-center justify-center rounded-full font-medium select-none',
        SOFT[TONES[sum % TONES.length] ?? 'neutral'],
        sizes[size],
      )}
    >
      {listInitials(name)}
    </span>
  )
}
