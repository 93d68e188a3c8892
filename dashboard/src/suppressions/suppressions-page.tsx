/** The suppression list: found, explained, extended, shortened, imported and exported. */
import { Ban, Download, Plus, Upload } from '#dashboard/src/ui/icons.tsx'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { exportSuppressions, listSuppressions, type Suppression } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { AddSuppressionsDialog } from './add-suppressions-dialog.tsx'
import { ImportSuppressionsDialog } from './import-suppressions-dialog.tsx'
import { RemoveSuppressionsDialog } from './remove-suppressions-dialog.tsx'
import { isKind, KIND_TONES, KINDS, PERIODS, startOf } from './suppression-kinds.ts'
import { SuppressionSheet } from './suppression-sheet.tsx'

const TYPING_MS = 250
const PAGE = 100

/** The filters of the address, as the list and the export take them. */
function useSuppressionQuery() {
  const [search] = useAddressSearch()
  const { q, kind, period } = search
  return useMemo(() => {
    const after = startOf(period, Date.now())
    return {
      ...(q === undefined ? {} : { search: q }),
      ...(isKind(kind) ? { kind } : {}),
      ...(after === undefined ? {} : { after }),
    }
  }, [q, kind, period])
}

export function SuppressionsPage(): ReactNode {
  const { suppressions: texts } = useTexts()
  const can = useCan()
  const [search, change] = useAddressSearch()
  const query = useSuppressionQuery()
  const download = useDownload(exportSuppressions, 'suppressions.csv')
  const open = (dialog: string | undefined) => () => change({ dialog })
  const canWrite = can('suppressions:write')
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <>
            {can('contacts:export') && (
              <Button icon={Download} isLoading={download.isRunning} onClick={() => download.start({ query })}>
                {texts.export}
              </Button>
            )}
            {canWrite && (
              <Button icon={Upload} onClick={open('import')}>
                {texts.import}
              </Button>
            )}
            {canWrite && (
              <Button variant="primary" icon={Plus} onClick={open('add')}>
                {texts.add}
              </Button>
            )}
          </>
        }
      />
      <SuppressionList query={query} />
      {search['dialog'] === 'add' && <AddSuppressionsDialog onClose={open(undefined)} />}
      {search['dialog'] === 'import' && <ImportSuppressionsDialog onClose={open(undefined)} />}
    </>
  )
}

function SuppressionList({ query }: { readonly query: ReturnType<typeof useSuppressionQuery> }): ReactNode {
  const { suppressions: texts } = useTexts()
  const canWrite = useCan()('suppressions:write')
  const [search, change] = useAddressSearch()
  const [selected, setSelected] = useState<readonly string[]>([])
  const [isRemoving, setRemoving] = useState(false)
  const list = useApiList(
    listSuppressions,
    { query: { ...query, limit: PAGE } },
    { items: ({ data }) => data.suppressions, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const isFiltered = Object.keys(query).length > 0
  const entry = search['entry']
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <SuppressionFilters
        total={list.first?.data.total}
        isSearching={list.query.isFetching && list.first !== undefined}
      />
      <Card padding="none">
        <DataTable
          label={texts.title}
          columns={useColumns()}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ email }) => email}
          onOpen={({ email }) => change({ entry: email })}
          {...(entry === undefined ? {} : { currentId: entry })}
          {...(canWrite ? { selectedIds: selected, onSelectionChange: setSelected } : {})}
          bulkActions={
            <Button size="sm" variant="danger" onClick={() => setRemoving(true)}>
              {texts.remove}
            </Button>
          }
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={
            isFiltered ? undefined : (
              <EmptyState
                icon={Ban}
                title={texts.emptyTitle}
                text={texts.emptyText}
                docsHref="/docs/guides/suppression"
              />
            )
          }
          error={list.query.isError ? <FailedQuery query={list.query} title={texts.notLoaded} /> : undefined}
        />
      </Card>
      {entry !== undefined && <SuppressionSheet email={entry} onClose={() => change({ entry: undefined })} />}
      {isRemoving && (
        <RemoveSuppressionsDialog
          emails={selected}
          kinds={list.items.filter(({ email }) => selected.includes(email)).map(({ kind }) => kind)}
          onClose={() => setRemoving(false)}
          onRemoved={() => setSelected([])}
        />
      )}
    </div>
  )
}

function useColumns(): readonly DataColumn<Suppression>[] {
  const { suppressions: texts } = useTexts()
  return [
    { id: 'email', header: texts.email, cell: ({ email }) => <EmailAddress address={email} /> },
    {
      id: 'kind',
      header: texts.cause,
      width: '9rem',
      cell: ({ kind }) => <StatusBadge tone={KIND_TONES[kind]}>{texts.kinds[kind]}</StatusBadge>,
    },
    { id: 'why', header: texts.why, priority: 3, width: '36%', cell: ({ reply, reason }) => reply?.text ?? reason },
    {
      id: 'since',
      header: texts.since,
      priority: 2,
      width: '9rem',
      align: 'right',
      cell: ({ created_at: at }) => <RelativeTime value={at} />,
    },
  ]
}

interface SuppressionFiltersProps {
  readonly total: number | undefined
  readonly isSearching: boolean
}

function SuppressionFilters({ total, isSearching }: SuppressionFiltersProps): ReactNode {
  const { suppressions: texts } = useTexts()
  const [address, change] = useAddressSearch()
  const [text, setText] = useState(address['q'] ?? '')
  const wanted = useDebounced(text, TYPING_MS)
  useEffect(() => change({ q: wanted.trim() }), [change, wanted])
  const value = Object.fromEntries(
    ['kind', 'period'].flatMap((key) => (address[key] === undefined ? [] : [[key, address[key]]])),
  )
  return (
    <FilterBar
      search={<SearchInput label={texts.search} value={text} onChange={setText} isSearching={isSearching} />}
      filters={[
        { key: 'kind', label: texts.cause, options: KINDS.map((kind) => ({ value: kind, label: texts.kinds[kind] })) },
        {
          key: 'period',
          label: texts.since,
          options: Object.keys(PERIODS).map((one) => ({ value: one, label: texts.periods[one] ?? one })),
        },
      ]}
      value={value}
      onChange={(next) => change({ kind: next['kind'], period: next['period'] })}
      actions={
        total === undefined ? undefined : (
          <span className="text-sm text-muted" role="status">
            {texts.counted(total)}
          </span>
        )
      }
    />
  )
}
