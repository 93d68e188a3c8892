import type { ReactNode } from 'react'
import type { Account } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const TONES: Record<Account['status'], Tone> = { active: 'success', paused: 'danger', untested: 'warning' }

export function AccountStatus({ status }: Pick<Account, 'status'>): ReactNode {
  const { accounts } = useTexts()
  return <StatusBadge tone={TONES[status]}>{accounts.status[status]}</StatusBadge>
}
