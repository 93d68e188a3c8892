import type { ReactNode } from 'react'
import type { ReceivedEmailSummary } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

export const SPAM_VERDICTS = ['clean', 'suspicious', 'spam'] as const
const TONES: Readonly<Record<(typeof SPAM_VERDICTS)[number], Tone>> = {
  clean: 'success',
  suspicious: 'warning',
  spam: 'danger',
}

/** The spam verdict of a received mail; while it is parsed, or if it cannot be, that. */
export function SpamBadge({ mail }: { readonly mail: ReceivedEmailSummary }): ReactNode {
  const { received } = useTexts()
  const { spam_verdict: verdict, state } = mail
  if (verdict !== null) return <StatusBadge tone={TONES[verdict]}>{received.verdicts[verdict]}</StatusBadge>
  return (
    <StatusBadge tone="neutral" isLive={state === 'received'}>
      {received.states[state]}
    </StatusBadge>
  )
}
