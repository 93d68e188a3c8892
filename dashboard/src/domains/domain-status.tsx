/** The state of a domain and of a record as a word with a colour. */
import type { ReactNode } from 'react'
import type { DnsRecord, Domain } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const DOMAIN_TONES: Record<Domain['status'], Tone> = {
  pending: 'info',
  verified: 'success',
  degraded: 'warning',
  failed: 'danger',
}

const PART_TONES: Record<Domain['mail_from_status'], Tone> = {
  pending: 'neutral',
  verified: 'success',
  failed: 'warning',
}

export function DomainStatus({ status }: { readonly status: Domain['status'] }): ReactNode {
  const { domains } = useTexts()
  return (
    <StatusBadge tone={DOMAIN_TONES[status]} isLive={status === 'pending'}>
      {domains.status[status]}
    </StatusBadge>
  )
}

/** Whether the return-path or the tracking name is in use. */
export function PartStatus({ status }: { readonly status: Domain['mail_from_status'] }): ReactNode {
  const { domains } = useTexts()
  return <StatusBadge tone={PART_TONES[status]}>{domains.partStatus[status]}</StatusBadge>
}

/** What is missing of a record matters more if the domain cannot send without it. */
export function recordTone({ status, required }: Pick<DnsRecord, 'status' | 'required'>): Tone {
  if (status === 'ok') return 'success'
  if (status === 'pending') return 'info'
  if (status === 'unknown') return 'neutral'
  return required ? 'danger' : 'warning'
}
