import { Radar } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import type { ReceiverDesk } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { bouncesOf, shareOf } from './receiver-traffic.ts'

type Receiver = ReceiverDesk

interface ReceiverTableProps {
  readonly receivers: readonly Receiver[]
  /** The page of a receiver, by its name. */
  readonly getHref: (name: string) => string
}

/** Each receiver with its mail of 24 hours and what holds it now. */
export function ReceiverTable({ receivers, getHref }: ReceiverTableProps): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  const number = (id: string, header: string, value: (row: Receiver) => number): DataColumn<Receiver> => ({
    id,
    header,
    cell: (row) => <NumberText value={value(row)} />,
    sortValue: value,
    width: '6.5rem',
    align: 'right',
  })
  const columns: readonly DataColumn<Receiver>[] = [
    { id: 'title', header: operator.receiver, cell: ({ title }) => title, sortValue: ({ title }) => title },
    { id: 'throttle', header: texts.throttle, cell: (row) => <ThrottleBadge receiver={row} />, width: '10rem' },
    { ...number('sent', texts.sent, ({ day }) => day.sent), priority: 2 },
    { ...number('delivered', texts.delivered, ({ day }) => day.delivered), width: '7.5rem', priority: 3 },
    { ...number('deferred', texts.deferred, ({ day }) => day.deferred), width: '8.5rem', priority: 2 },
    { ...number('bounced', texts.bounced, ({ day }) => bouncesOf(day)), priority: 2 },
    { ...number('complained', texts.complained, ({ day }) => day.complained), width: '8rem', priority: 3 },
    {
      id: 'encrypted',
      header: texts.encrypted,
      cell: ({ encrypted, day }) => <Percent share={shareOf(encrypted, day.sent)} />,
      width: '6.5rem',
      align: 'right',
      priority: 3,
    },
  ]
  return (
    <Card padding="none">
      <DataTable
        label={texts.title}
        columns={columns}
        rows={receivers}
        getRowId={({ name }) => name}
        getHref={({ name }) => getHref(name)}
        empty={<EmptyState icon={Radar} title={texts.empty} text={texts.emptyText} />}
      />
    </Card>
  )
}

export function ThrottleBadge({ receiver: { throttles } }: { readonly receiver: Receiver }): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  if (throttles.some(({ state }) => state === 'suspended'))
    return <StatusBadge tone="danger">{texts.suspended}</StatusBadge>
  if (throttles.length > 0) return <StatusBadge tone="warning">{texts.slowed}</StatusBadge>
  return <StatusBadge tone="success">{texts.free}</StatusBadge>
}
