/** The mail that inbound routes received, newest first; by route and spam verdict. Live. */
import { MailSearch } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listInboundRoutes, listReceivedEmails, type ReceivedEmailSummary } from '#dashboard/src/api/endpoints.ts'
import { useApi, useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { ReceivedTabs } from './received-tabs.tsx'
import { SPAM_VERDICTS, SpamBadge } from './spam-badge.tsx'

const PAGE_SIZE = 50
const MAX_ROUTES = 100
const FILTERS = ['route_id', 'spam_verdict'] as const

export function ReceivedPage(): ReactNode {
  const { received } = useTexts()
  const path = useWorkspacePath()
  const [search, change] = useAddressSearch()
  const routes = useApi(listInboundRoutes, { query: { limit: MAX_ROUTES } })
  const verdict = SPAM_VERDICTS.find((one) => one === search['spam_verdict'])
  const routeId = search['route_id']
  const isFiltered = verdict !== undefined || routeId !== undefined
  const list = useApiList(
    listReceivedEmails,
    {
      query: {
        limit: PAGE_SIZE,
        ...(verdict === undefined ? {} : { spam_verdict: verdict }),
        ...(routeId === undefined ? {} : { route_id: routeId }),
      },
    },
    { items: (answer) => answer.data.emails, nextCursor: (answer) => answer.data.next_cursor, keepsPrevious: true },
  )
  const { query } = list
  const known = routes.data?.data.routes ?? []
  return (
    <>
      <PageHeader title={received.title} description={received.description} tabs={<ReceivedTabs current="mail" />} />
      <div className="flex flex-col gap-4">
        <FilterBar
          value={Object.fromEntries(FILTERS.flatMap((key) => (search[key] ? [[key, search[key]]] : [])))}
          onChange={(next) => change(Object.fromEntries(FILTERS.map((key) => [key, next[key]])))}
          filters={[
            ...(known.length === 0
              ? []
              : [
                  {
                    key: 'route_id',
                    label: received.route,
                    options: known.map(({ id, address }) => ({ value: id, label: address })),
                  },
                ]),
            {
              key: 'spam_verdict',
              label: received.verdict,
              options: SPAM_VERDICTS.map((value) => ({ value, label: received.verdicts[value] })),
            },
          ]}
        />
        <Card padding="none">
          <DataTable
            label={received.title}
            columns={useReceivedColumns()}
            rows={query.isPending ? null : list.items}
            getRowId={(row) => row.id}
            getHref={(row) => path(`/received/${row.id}`)}
            hasMore={list.hasMore}
            isLoadingMore={query.isFetchingNextPage}
            onEndReached={list.loadMore}
            error={query.error === null ? null : <FailedQuery query={query} title={received.notLoaded} />}
            empty={
              <EmptyState
                icon={MailSearch}
                title={isFiltered ? received.nothingFound : received.empty}
                text={isFiltered ? undefined : received.emptyText}
                action={
                  isFiltered || known.length > 0 ? undefined : (
                    <ButtonLink variant="primary" href={path('/received/routes', { dialog: 'new' })}>
                      {received.newRoute}
                    </ButtonLink>
                  )
                }
              />
            }
          />
        </Card>
      </div>
    </>
  )
}

function useReceivedColumns(): readonly DataColumn<ReceivedEmailSummary>[] {
  const { received, mailView } = useTexts()
  return [
    {
      id: 'from',
      header: received.from,
      width: '26%',
      cell: ({ from_address: from, mail_from: sender }) => (
        <span className="flex min-w-0 font-medium">
          <EmailAddress address={from ?? (sender === '' ? received.noSender : sender)} />
        </span>
      ),
    },
    { id: 'subject', header: received.subject, cell: ({ subject }) => subject ?? mailView.noSubject },
    {
      id: 'to',
      header: received.to,
      width: '22%',
      priority: 3,
      cell: ({ recipient }) => <EmailAddress address={recipient} />,
    },
    { id: 'verdict', header: received.verdict, width: '8rem', priority: 2, cell: (mail) => <SpamBadge mail={mail} /> },
    {
      id: 'received',
      header: received.received,
      width: '9rem',
      align: 'right',
      priority: 2,
      cell: ({ received_at: at }) => (
        <span className="text-muted">
          <RelativeTime value={at} />
        </span>
      ),
    },
  ]
}
