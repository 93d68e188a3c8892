/** The addresses that mail is sent from, and the pools that they belong to. A source opens in a drawer. */
import { Network, Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminListSources, type EgressSource } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { AddSourceDialog } from './add-source-dialog.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { Pools } from './pools.tsx'
import { SourceSheet } from './source-sheet.tsx'
import { SOURCE_TONES } from './source-tones.ts'

export function SourcesPage(): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [search, changeSearch] = useAddressSearch()
  const query = useApi(adminListSources, {})
  const columns = useSourceColumns()
  const sources = query.data?.data.sources ?? []
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <Button variant="primary" icon={Plus} onClick={() => changeSearch({ add: 'source' })}>
            {texts.add}
          </Button>
        }
      />
      <div className="flex flex-col gap-8">
        <Loaded query={query}>
          {({ data }) => (
            <PlainTable
              label={texts.title}
              columns={columns}
              rows={data.sources}
              getRowId={({ name }) => name}
              onOpen={({ name }) => changeSearch({ source: name })}
              currentId={search['source']}
              empty={<EmptyState icon={Network} title={texts.empty} text={texts.emptyText} />}
            />
          )}
        </Loaded>
        <Pools sources={sources.map(({ name }) => name)} />
      </div>
      <SourceSheet
        source={sources.find(({ name }) => name === search['source']) ?? null}
        onClose={() => changeSearch({ source: undefined })}
      />
      {search['add'] === 'source' && <AddSourceDialog onClose={() => changeSearch({ add: undefined })} />}
    </>
  )
}

function useSourceColumns(): readonly DataColumn<EgressSource>[] {
  const { operator } = useTexts()
  const { sources: texts } = operator
  return [
    { id: 'name', header: texts.name, cell: ({ name }) => name, sortValue: ({ name }) => name },
    { id: 'address', header: texts.address, cell: ({ address }) => address, width: '11rem' },
    { id: 'ehlo', header: texts.ehlo, cell: (row) => row.ehlo_name, width: '20%', priority: 3 },
    {
      id: 'state',
      header: operator.state,
      cell: ({ state }) => <StatusBadge tone={SOURCE_TONES[state]}>{texts.states[state]}</StatusBadge>,
      sortValue: ({ state }) => state,
      width: '9.5rem',
    },
    {
      id: 'pools',
      header: texts.pools,
      cell: ({ pools }) => pools.map(({ pool }) => pool).join(', '),
      width: '16%',
      priority: 2,
    },
    {
      id: 'warming',
      header: texts.warmUpSince,
      cell: (row) => (row.warming_since === null ? texts.warm : <RelativeTime value={row.warming_since} />),
      width: '11rem',
      priority: 3,
    },
  ]
}
