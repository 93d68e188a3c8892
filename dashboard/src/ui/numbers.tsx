import { formatBytes, formatNumber, formatPercent } from './format.ts'
import { useUiTexts } from './ui-texts.ts'

/** `1.2M`, with the exact number as title. `isExact`: all digits. */
export function NumberText({ value, isExact = false }: { value: number; isExact?: boolean }) {
  const { locale } = useUiTexts()
  const text = formatNumber(value, locale, !isExact)
  const exact = formatNumber(value, locale)
  return (
    <span className="tabular-nums" title={text === exact ? undefined : exact}>
      {text}
    </span>
  )
}

/** A share of 0 to 1; null (nothing to divide by) is a dash. */
export function Percent({ share }: { share: number | null }) {
  const { locale } = useUiTexts()
  return <span className="tabular-nums">{share === null ? '–' : formatPercent(share, locale)}</span>
}

/** `2.4 MB`, with the exact number as title. */
export function ByteSize({ bytes }: { bytes: number }) {
  const { locale } = useUiTexts()
  return (
    <span className="whitespace-nowrap tabular-nums" title={formatNumber(bytes, locale)}>
      {formatBytes(bytes, locale)}
    </span>
  )
}
