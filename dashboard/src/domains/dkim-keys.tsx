/** The DKIM keys of a domain, and what each of them waits for. */
import type { ReactNode } from 'react'
import type { DkimKey, Domain } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { recordTone } from './domain-status.tsx'
import { nextStepAt, rotationObstacle } from './key-rotation.ts'

const TONES: Record<DkimKey['state'], Tone> = {
  waiting: 'info',
  active: 'success',
  retired: 'neutral',
  removable: 'neutral',
  revoked: 'neutral',
}

export function DkimKeys({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const obstacle = rotationObstacle(domain)
  const waiting = domain.dkim_keys.filter(({ state }) => state === 'waiting')
  const records = domain.dns_records.filter(({ name, purpose }) =>
    waiting.some(({ selector }) => purpose === 'dkim' && name.startsWith(`${selector}.`)),
  )
  return (
    <div className="flex flex-col gap-8">
      {obstacle === 'in-progress' && (
        <Callout tone="info" title={domains.rotationRuns}>
          {waiting.some((key) => key.record_seen_at === null) ? domains.waitsForRecord : domains.waitsForTime}
        </Callout>
      )}
      <Section title={domains.keys} description={domains.keysText}>
        <KeyTable keys={domain.dkim_keys} />
      </Section>
      {records.length > 0 && (
        <Section title={domains.recordsOfNextKeys}>
          <div className="flex flex-col gap-3">
            {records.map((one) => (
              <DnsRecord
                key={one.name}
                type={one.type}
                name={one.name}
                value={one.value}
                status={{ tone: recordTone(one), label: domains.recordStatus[one.status] }}
                reason={one.status === 'ok' || one.message === null ? undefined : one.message}
              />
            ))}
          </div>
        </Section>
      )}
    </div>
  )
}

function KeyTable({ keys }: { readonly keys: readonly DkimKey[] }): ReactNode {
  const { domains } = useTexts()
  const columns: readonly DataColumn<DkimKey>[] = [
    {
      id: 'selector',
      header: domains.selector,
      cell: (key) => <code className="font-mono text-sm">{key.selector}</code>,
    },
    {
      id: 'algorithm',
      header: domains.algorithm,
      cell: (key) => domains.algorithms[key.algorithm],
      width: '9rem',
      priority: 2,
    },
    {
      id: 'state',
      header: domains.state,
      cell: (key) => (
        <StatusBadge tone={TONES[key.state]} isLive={key.state === 'waiting'}>
          {domains.keyStates[key.state]}
        </StatusBadge>
      ),
      width: '9rem',
    },
    {
      id: 'since',
      header: domains.since,
      cell: (key) => <RelativeTime value={key.since} />,
      width: '9rem',
      priority: 3,
    },
    { id: 'next', header: domains.whatNext, cell: (key) => <NextStep dkimKey={key} />, width: '40%', priority: 2 },
  ]
  return <DataTable label={domains.keys} columns={columns} rows={keys} getRowId={(key) => key.selector} />
}

function NextStep({ dkimKey }: { readonly dkimKey: DkimKey }): ReactNode {
  const { domains } = useTexts()
  const at = nextStepAt(dkimKey)
  if (dkimKey.state === 'waiting' && at === null) return domains.waitsForRecord
  return (
    <span className="whitespace-normal">
      {domains.keyNext[dkimKey.state]} {at !== null && <RelativeTime value={at} />}
    </span>
  )
}
