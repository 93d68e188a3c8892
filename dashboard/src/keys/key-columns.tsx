import type { ReactNode } from 'react'
import type { ApiKey } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge, StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const TONES: Record<ApiKey['status'], Tone> = { active: 'success', expired: 'warning', revoked: 'neutral' }

export function KeyStatus({ status }: Pick<ApiKey, 'status'>): ReactNode {
  const { keys } = useTexts()
  return <StatusBadge tone={TONES[status]}>{keys.status[status]}</StatusBadge>
}

export function useKeyColumns(): readonly DataColumn<ApiKey>[] {
  const { keys } = useTexts()
  return [
    {
      id: 'name',
      header: keys.name,
      cell: (key) => <span className="truncate font-medium">{key.name}</span>,
      sortValue: (key) => key.name,
    },
    {
      id: 'type',
      header: keys.type,
      cell: (key) => <Badge tone={key.type === 'admin' ? 'accent' : 'neutral'}>{keys.types[key.type]}</Badge>,
      sortValue: (key) => key.type,
      width: '7rem',
    },
    { id: 'use', header: keys.mayDo, cell: (key) => <Use apiKey={key} />, width: '22%', priority: 2 },
    {
      id: 'networks',
      header: keys.networks,
      cell: (key) => (
        <span className="truncate text-muted">
          {key.allowed_networks.length === 0 ? keys.everywhere : key.allowed_networks.join(', ')}
        </span>
      ),
      width: '11rem',
      priority: 3,
    },
    {
      id: 'used',
      header: keys.lastUsed,
      cell: (key) => (key.last_used_at === null ? keys.never : <RelativeTime value={key.last_used_at} />),
      sortValue: (key) => key.last_used_at,
      width: '9.5rem',
      priority: 2,
    },
    {
      id: 'expires',
      header: keys.expires,
      cell: (key) => (key.expires_at === null ? keys.never : <DateTime value={key.expires_at} precision="day" />),
      sortValue: (key) => key.expires_at,
      width: '8rem',
      priority: 3,
    },
    {
      id: 'status',
      header: keys.state,
      cell: (key) => <KeyStatus status={key.status} />,
      sortValue: (key) => key.status,
      width: '7rem',
    },
  ]
}

function Use({ apiKey }: { readonly apiKey: ApiKey }): ReactNode {
  const { keys } = useTexts()
  const text =
    apiKey.type === 'admin'
      ? keys.scopeCount(apiKey.scopes.length)
      : apiKey.domain === null
        ? keys.sendsByAccount
        : keys.sendsFrom(apiKey.domain)
  return <span className="truncate text-muted">{text}</span>
}
