import type { ReactNode } from 'react'
import type { AutomationAnswer } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'

export type Automation = AutomationAnswer['data']

const TONES = { draft: 'neutral', active: 'success', paused: 'warning', archived: 'neutral' } as const

export function AutomationStatus({ status }: { readonly status: Automation['status'] }): ReactNode {
  const { automations } = useTexts()
  return (
    <StatusBadge tone={TONES[status]} isLive={status === 'active'}>
      {automations.status[status]}
    </StatusBadge>
  )
}
