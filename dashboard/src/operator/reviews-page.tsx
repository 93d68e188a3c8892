/** The reviews of suppressions of the last day, live, and the button that starts one. */
import { ListChecks, Play } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminListSuppressionReviews, type SuppressionReviewProgress } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { ListTable } from './loaded.tsx'
import { ReviewProgress, ReviewState } from './review-progress.tsx'
import { StartReviewDialog } from './start-review-dialog.tsx'

export function ReviewsPage(): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const columns = useReviewColumns()
  const list = useApiList(
    adminListSuppressionReviews,
    { query: { limit: 50 } },
    { items: ({ data }) => data.reviews, nextCursor: ({ data }) => data.next_cursor },
  )
  const start = (
    <Button variant="primary" icon={Play} onClick={() => changeSearch({ dialog: 'start' })}>
      {texts.start}
    </Button>
  )
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} actions={start} />
      <ListTable
        list={list}
        label={texts.title}
        columns={columns}
        getRowId={({ id }) => id}
        getHref={({ id }) => operatorPath(`/reviews/${id}`)}
        empty={<EmptyState icon={ListChecks} title={texts.empty} text={texts.emptyText} />}
      />
      {search['dialog'] === 'start' && <StartReviewDialog onClose={() => changeSearch({ dialog: undefined })} />}
    </>
  )
}

function useReviewColumns(): readonly DataColumn<SuppressionReviewProgress>[] {
  const { suppressionReviews: texts } = useTexts()
  return [
    {
      id: 'requested',
      header: texts.requested,
      cell: (row) => <RelativeTime value={row.requested_at} />,
    },
    { id: 'state', header: texts.state, cell: ({ state }) => <ReviewState state={state} />, width: '7.5rem' },
    {
      id: 'by',
      header: texts.by,
      cell: (row) => <span title={row.requested_by ?? undefined}>{row.requested_by ?? texts.unknown}</span>,
      priority: 2,
    },
    {
      id: 'mode',
      header: texts.mode,
      cell: ({ lift }) => texts.modes[lift ? 'lift' : 'list'],
      width: '9rem',
      priority: 3,
    },
    {
      id: 'progress',
      header: texts.progress,
      cell: (row) => (
        <div className="py-2">
          <ReviewProgress review={row} />
        </div>
      ),
      width: '28%',
      priority: 2,
    },
    {
      id: 'found',
      header: texts.found,
      cell: ({ count }) => <NumberText value={count} isExact />,
      width: '5.5rem',
      align: 'right',
    },
  ]
}
