/** The status of a message or of one of its recipients: a word and a colour, the same on every page. */
import type { ReactNode } from 'react'
import type { FoundEmail } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

export type MessageStatus = FoundEmail['status']

const STATUS_TONES: Readonly<Record<MessageStatus, Tone>> = {
  scheduled: 'info',
  queued: 'info',
  sending: 'accent',
  deferred: 'warning',
  unknown: 'warning',
  sent: 'success',
  delivered: 'success',
  captured: 'success',
  bounced: 'danger',
  failed: 'danger',
  suppressed: 'neutral',
  cancelled: 'neutral',
}

export const MESSAGE_STATUSES = Object.keys(STATUS_TONES) as readonly MessageStatus[]

/** The message still waits for something. */
const WAITING: ReadonlySet<MessageStatus> = new Set(['scheduled', 'queued', 'sending', 'deferred', 'unknown'])

export function isWaiting(status: MessageStatus): boolean {
  return WAITING.has(status)
}

export function MessageStatusBadge({ status }: { readonly status: MessageStatus }): ReactNode {
  const { mailView } = useTexts()
  return (
    <StatusBadge tone={STATUS_TONES[status]} isLive={status === 'sending'}>
      {mailView.statuses[status]}
    </StatusBadge>
  )
}
