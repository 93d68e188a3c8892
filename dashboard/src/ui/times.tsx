import { useSyncExternalStore } from 'react'
import { formatDateTime, formatDuration, formatExactTime, formatRelative, type TimePrecision } from './format.ts'
import { useUiTexts } from './ui-texts.ts'

const TICK_MS = 5000
const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** One clock for all relative times of the page. */
function subscribeNow(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    now = Date.now()
    timer = setInterval(() => {
      now = Date.now()
      for (const notify of listeners) notify()
    }, TICK_MS)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

interface TimeProps {
  /** ISO 8601. */
  value: string
}

/** `3 minutes ago`; it counts on. The title has the exact time in the reader's zone and in UTC. */
export function RelativeTime({ value }: TimeProps) {
  const { locale } = useUiTexts()
  const current = useSyncExternalStore(subscribeNow, () => now)
  const instant = new Date(value)
  if (Number.isNaN(instant.getTime())) return <span>{value}</span>
  return (
    <time dateTime={value} title={formatExactTime(instant, locale)} className="whitespace-nowrap">
      {formatRelative(instant, Math.max(current, now), locale)}
    </time>
  )
}

/** A date and time in the reader's zone. */
export function DateTime({ value, precision }: TimeProps & { precision?: TimePrecision | undefined }) {
  const { locale } = useUiTexts()
  const instant = new Date(value)
  if (Number.isNaN(instant.getTime())) return <span>{value}</span>
  return (
    <time dateTime={value} title={formatExactTime(instant, locale)} className="whitespace-nowrap">
      {formatDateTime(instant, locale, precision)}
    </time>
  )
}

/** `1 hr 5 min`; the title has the seconds. */
export function Duration({ seconds }: { seconds: number }) {
  const { locale } = useUiTexts()
  return (
    <span className="whitespace-nowrap tabular-nums" title={`${seconds.toLocaleString(locale)} s`}>
      {formatDuration(seconds, locale)}
    </span>
  )
}
