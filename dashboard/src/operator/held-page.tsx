import { ShieldCheck } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminListHeldSuppressions, type HeldSuppressions } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded, PlainTable } from './loaded.tsx'

const REASONS = ['outage', 'proof'] as const

function reasonOf(hold: string): (typeof REASONS)[number] {
  return hold === 'outage' ? 'outage' : 'proof'
}

/** Suppressions that wait, because a fault of the receiver is likely. They resolve themselves. */
export function HeldPage(): ReactNode {
  const { operator, administration } = useTexts()
  const { held: texts } = administration
  const query = useApi(adminListHeldSuppressions, {})
  const columns: readonly DataColumn<HeldSuppressions>[] = [
    {
      id: 'receiver',
      header: operator.receiver,
      cell: ({ receiver }) => (
        <LinkText href={operatorPath(`/receivers/${encodeURIComponent(receiver)}`)}>{receiver}</LinkText>
      ),
      width: '24%',
    },
    {
      id: 'count',
      header: texts.addresses,
      cell: ({ count }) => <NumberText value={count} isExact />,
      width: '7rem',
      align: 'right',
    },
    { id: 'why', header: texts.why, cell: ({ hold }) => texts.reasons[reasonOf(hold)], priority: 2 },
    {
      id: 'since',
      header: operator.since,
      cell: ({ since }) => <RelativeTime value={since} />,
      width: '9rem',
      priority: 2,
    },
  ]
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <Loaded query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-4">
            {REASONS.filter((reason) => data.held.some(({ hold }) => reasonOf(hold) === reason)).map((reason) => (
              <Callout key={reason} title={texts.reasons[reason]}>
                {texts.todos[reason]}
              </Callout>
            ))}
            <PlainTable
              label={texts.title}
              columns={columns}
              rows={data.held}
              getRowId={({ hold, receiver }) => `${hold} ${receiver}`}
              empty={<EmptyState icon={ShieldCheck} title={texts.empty} text={texts.emptyText} />}
            />
          </div>
        )}
      </Loaded>
    </>
  )
}
