/** How far an import is, and what became of its rows. */
import type { ReactNode } from 'react'
import type { ContactImport } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

type State = ContactImport['status']

export const STATE_TONES: Readonly<Record<State, Tone>> = {
  uploading: 'info',
  waiting: 'info',
  running: 'accent',
  done: 'success',
  failed: 'danger',
  cancelled: 'neutral',
}
const OPEN: readonly State[] = ['uploading', 'waiting', 'running']

export function isOpen({ status }: ContactImport): boolean {
  return OPEN.includes(status)
}

export function ImportState({ found }: { readonly found: ContactImport }): ReactNode {
  const { imports } = useTexts()
  return (
    <StatusBadge tone={STATE_TONES[found.status]} isLive={found.status === 'running'}>
      {imports.states[found.status]}
    </StatusBadge>
  )
}

export function ImportProgress({ found }: { readonly found: ContactImport }): ReactNode {
  const { imports } = useTexts()
  const say = useServerText()
  const { status, progress, queuePosition, rows, reason } = found
  if (status === 'failed')
    return (
      <Callout tone="danger" title={imports.failedTitle}>
        {reason === null ? null : say(reason, found.reason_translation)}
      </Callout>
    )
  const isWaiting = status === 'waiting' && (queuePosition ?? 0) > 0
  return (
    <div role="status">
      <Progress
        label={imports.states[status]}
        share={status === 'running' || !isOpen(found) ? progress : null}
        tone={STATE_TONES[status]}
        text={isWaiting ? imports.queue(queuePosition ?? 0) : imports.rowsRead(rows.read, Math.floor(progress * 100))}
      />
    </div>
  )
}

const COUNTS = ['added', 'updated', 'joined', 'duplicates', 'failed', 'blocked', 'unsubscribed'] as const

export function ImportCounts({ found }: { readonly found: ContactImport }): ReactNode {
  const { imports } = useTexts()
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      {COUNTS.map((name) => (
        <StatTile
          key={name}
          label={imports.counts[name]}
          value={<NumberText value={found.rows[name]} isExact />}
          hint={imports.countHints[name]}
        />
      ))}
    </div>
  )
}
