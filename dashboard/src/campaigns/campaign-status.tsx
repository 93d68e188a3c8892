import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { STATUS_TONES, type CampaignStatus as Status } from './campaign-state.ts'

export function CampaignStatus({ status }: { readonly status: Status }): ReactNode {
  const { campaigns } = useTexts()
  return (
    <StatusBadge tone={STATUS_TONES[status]} isLive={status === 'SENDING'}>
      {campaigns.status[status]}
    </StatusBadge>
  )
}
