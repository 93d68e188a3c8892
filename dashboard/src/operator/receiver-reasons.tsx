import type { ReactNode } from 'react'
import type { OperatorReceiverDesk } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { PlainTable } from './loaded.tsx'

type Reason = OperatorReceiverDesk['reasons'][number]

interface ReceiverProps {
  readonly receiver: OperatorReceiverDesk
}

/** Classes of deferrals and bounces of 24 hours, each with the last words of the receiver. */
export function ReceiverReasons({ receiver }: ReceiverProps): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  const columns: readonly DataColumn<Reason>[] = [
    { id: 'class', header: texts.class, cell: (row) => row.class, width: '11rem' },
    {
      id: 'reply',
      header: texts.lastReply,
      cell: ({ reply }) => <code className="font-mono text-xs break-words whitespace-normal">{reply ?? '–'}</code>,
    },
    {
      id: 'deferred',
      header: texts.deferred,
      cell: ({ deferred }) => <NumberText value={deferred} />,
      width: '6.5rem',
      align: 'right',
      priority: 2,
    },
    {
      id: 'bounced',
      header: texts.bounced,
      cell: ({ bounced }) => <NumberText value={bounced} />,
      width: '6rem',
      align: 'right',
      priority: 2,
    },
    {
      id: 'since',
      header: operator.since,
      cell: ({ since }) => (since === null ? '–' : <RelativeTime value={since} />),
      width: '9rem',
      priority: 3,
    },
  ]
  return (
    <PlainTable
      label={texts.reasons}
      columns={columns}
      rows={receiver.reasons}
      getRowId={(row) => row.class}
      empty={<p className="px-4 py-3 text-muted">{texts.noReasons}</p>}
    />
  )
}

export function ReceiverSources({ receiver }: ReceiverProps): ReactNode {
  const { operator } = useTexts()
  return (
    <Card>
      {receiver.sources.length === 0 ? (
        <p className="text-muted">{operator.none}</p>
      ) : (
        <BarList
          label={operator.receivers.bySource}
          items={receiver.sources.map(({ name, traffic }) => ({
            key: name,
            label: name,
            value: traffic.sent,
            text: <NumberText value={traffic.sent} />,
          }))}
        />
      )}
    </Card>
  )
}
