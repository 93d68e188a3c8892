import { ShieldCheck } from 'lucide-react'
import type { ReactNode } from 'react'
import { adminListHeldSuppressions, type HeldSuppressions } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded, PlainTable } from './loaded.tsx'

/** Suppressions that wait, because a fault of the receiver is likely. They resolve themselves. */
export function HeldPage(): ReactNode {
  const { operator, administration } = useTexts()
  const { held: texts } = administration
  const query = useApi(adminListHeldSuppressions, {})
  const reasonOf = (hold: string): keyof typeof texts.reasons => (hold === 'outage' ? 'outage' : 'proof')
  const columns: readonly DataColumn<HeldSuppressions>[] = [
    {
      id: 'receiver',
      header: operator.receiver,
      cell: ({ receiver }) => (
        <LinkText href={operatorPath(`/receivers/${encodeURIComponent(receiver)}`)}>{receiver}</LinkText>
      ),
      width: '18%',
    },
    {
      id: 'count',
      header: texts.addresses,
      cell: ({ count }) => <NumberText value={count} isExact />,
      width: '7rem',
      align: 'right',
    },
    { id: 'why', header: texts.why, cell: ({ hold }) => texts.reasons[reasonOf(hold)], width: '22%', priority: 2 },
    {
      id: 'todo',
      header: texts.todo,
      cell: ({ hold }) => <span className="block py-2 whitespace-normal">{texts.todos[reasonOf(hold)]}</span>,
    },
    {
      id: 'since',
      header: operator.since,
      cell: ({ since }) => <RelativeTime value={since} />,
      width: '9rem',
      priority: 3,
    },
  ]
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <Loaded query={query}>
        {({ data }) => (
          <PlainTable
            label={texts.title}
            columns={columns}
            rows={data.held}
            getRowId={({ hold, receiver }) => `${hold} ${receiver}`}
            empty={<EmptyState icon={ShieldCheck} title={texts.empty} text={texts.emptyText} />}
          />
        )}
      </Loaded>
    </>
  )
}
