import { cx } from './class-names.ts'
import { useUiTexts } from './ui-texts.ts'

/** A wait of unknown length. Inside a control that names its own state, set `isDecorative`. */
export function Spinner({ size = 16, isDecorative = false }: { size?: number; isDecorative?: boolean }) {
  const texts = useUiTexts()
  return (
    <span
      className="inline-flex"
      role={isDecorative ? undefined : 'status'}
      aria-label={isDecorative ? undefined : texts.loading}
    >
      <svg className={cx('animate-spin')} width={size} height={size} viewBox="0 0 16 16" fill="none" aria-hidden="true">
        <circle cx="8" cy="8" r="6.5" stroke="currentColor" strokeOpacity="0.25" strokeWidth="2" />
        <path d="M14.5 8A6.5 6.5 0 0 0 8 1.5" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
      </svg>
    </span>
  )
}
