/**
 * Contacts of the workspace, of an audience or of a segment: searched, filtered, selected and changed together. Search
 * and filters are in the address of the page.
 */
import { useEffect, useState, type ReactNode } from 'react'
import { previewSegment, searchContacts } from '#dashboard/src/api/endpoints.ts'
import { useApi, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { FilterBar, type FilterDefinition } from '#dashboard/src/ui/filter-bar.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useAudienceChoices, useSegmentChoices } from './audience-options.ts'
import { ContactBulkActions } from './contact-bulk-actions.tsx'
import { useContactColumns } from './contact-columns.tsx'
import {
  CONTACT_FILTERS,
  CONTACT_STATUSES,
  contactQueryOf,
  countFilterOf,
  type ContactQuery,
} from './contact-filter.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'

interface ContactListProps {
  /** The audience or segment of the page; its filter is not shown. */
  readonly fixed?: Pick<ContactQuery, 'audienceId' | 'segmentId'>
  /** Shown where no contact exists and nothing is filtered. */
  readonly empty: ReactNode
}

const PAGE = 100
const TYPING_MS = 250

export function ContactList({ fixed = {}, empty }: ContactListProps): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('contacts:write')
  const [address] = useAddressSearch()
  const [selected, setSelected] = useState<readonly string[]>([])
  const query = contactQueryOf(address, fixed)
  const list = useApiList(
    searchContacts,
    { query: { ...query, limit: PAGE } },
    { items: ({ data }) => data.contacts, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const isFiltered = Object.keys(query).length > Object.keys(fixed).length
  const selection = canWrite ? { selectedIds: selected, onSelectionChange: setSelected } : {}
  const chosen = list.items.filter(({ id }) => selected.includes(id))
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <ContactFilters fixed={fixed} query={query} isSearching={list.query.isFetching && list.first !== undefined} />
      <Card padding="none">
        <DataTable
          label={contacts.title}
          columns={useContactColumns()}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ id }) => id}
          getHref={({ id }) => path(`/contacts/${id}`)}
          {...selection}
          bulkActions={<ContactBulkActions contacts={chosen} onDone={() => setSelected([])} />}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={isFiltered ? undefined : empty}
          error={list.query.isError ? <FailedQuery query={list.query} title={contacts.notLoaded} /> : undefined}
        />
      </Card>
    </div>
  )
}

interface ContactFiltersProps {
  readonly fixed: NonNullable<ContactListProps['fixed']>
  readonly query: ContactQuery
  readonly isSearching: boolean
}

function ContactFilters({ fixed, query, isSearching }: ContactFiltersProps): ReactNode {
  const { contacts } = useTexts()
  const [address, change] = useAddressSearch()
  const [text, setText] = useState(address['q'] ?? '')
  const wanted = useDebounced(text, TYPING_MS)
  useEffect(() => change({ q: wanted.trim() }), [change, wanted])
  const filters = useContactFilters(fixed)
  const value = Object.fromEntries(
    filters.flatMap(({ key }) => (address[key] === undefined ? [] : [[key, address[key]]])),
  )
  return (
    <FilterBar
      search={<SearchInput label={contacts.search} value={text} onChange={setText} isSearching={isSearching} />}
      filters={filters}
      value={value}
      onChange={(next) => change(Object.fromEntries(CONTACT_FILTERS.map((key) => [key, next[key]])))}
      actions={<ContactCount query={query} />}
    />
  )
}

function useContactFilters({ audienceId, segmentId }: ContactFiltersProps['fixed']): readonly FilterDefinition[] {
  const { contacts } = useTexts()
  const audiences = useAudienceChoices()
  const segments = useSegmentChoices()
  const statuses = CONTACT_STATUSES.map((value) => ({ value, label: contacts.statuses[value] }))
  const filters: FilterDefinition[] = [{ key: 'status', label: contacts.status, options: statuses }]
  if (audienceId === undefined && audiences.length > 0)
    filters.push({ key: 'audience', label: contacts.audience, options: audiences })
  if (segmentId === undefined && segments.length > 0)
    filters.push({ key: 'segment', label: contacts.segment, options: segments })
  filters.push(
    { key: 'tag', label: contacts.tag, placeholder: 'vip' },
    { key: 'attribute', label: contacts.attribute, placeholder: 'plan=pro' },
  )
  return filters
}

/** How many there are, where the API can count them. */
function ContactCount({ query }: { readonly query: ContactQuery }): ReactNode {
  const { contacts } = useTexts()
  const filter = countFilterOf(query)
  const { data } = useApi(
    previewSegment,
    { body: { ...(query.audienceId === undefined ? {} : { audience_id: query.audienceId }), filter: { ...filter } } },
    { isEnabled: filter !== null, keepsPrevious: true, staleMs: 60_000 },
  )
  if (filter === null || data === undefined) return null
  return (
    <span className="text-sm text-muted" role="status">
      {contacts.counted(data.data.count)}
    </span>
  )
}
