import { Ban, Download, RotateCw } from '#dashboard/src/ui/icons.tsx'
import { useState } from 'react'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { type DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { ByteSize } from '#dashboard/src/ui/numbers.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { listMessages, STATE_LABELS, STATE_TONES, type SampleMessage } from './gallery-data.ts'

const COLUMNS: DataColumn<SampleMessage>[] = [
  { id: 'to', header: 'To', cell: (row) => <EmailAddress address={row.to} />, sortValue: (row) => row.to },
  { id: 'subject', header: 'Subject', cell: (row) => row.subject, priority: 2, sortValue: (row) => row.subject },
  {
    id: 'state',
    header: 'State',
    width: '7.5rem',
    cell: (row) => <StatusBadge tone={STATE_TONES[row.state]}>{STATE_LABELS[row.state]}</StatusBadge>,
    sortValue: (row) => row.state,
  },
  { id: 'receiver', header: 'Receiver', width: '10rem', priority: 3, cell: (row) => row.receiver },
  {
    id: 'size',
    header: 'Size',
    width: '6rem',
    align: 'right',
    priority: 3,
    cell: (row) => <ByteSize bytes={row.bytes} />,
    sortValue: (row) => row.bytes,
  },
  {
    id: 'at',
    header: 'Accepted',
    width: '8.5rem',
    align: 'right',
    priority: 2,
    cell: (row) => <RelativeTime value={row.at} />,
    sortValue: (row) => row.at,
  },
]

const FILTERS = [
  { key: 'state', label: 'State', options: Object.entries(STATE_LABELS).map(([value, label]) => ({ value, label })) },
  { key: 'to', label: 'Recipient', placeholder: 'ada@example.com' },
  { key: 'receiver', label: 'Receiver', options: [{ value: 'gmail', label: 'Gmail' }] },
]

function Messages() {
  const [rows, setRows] = useState(() => listMessages(400))
  const [selected, setSelected] = useState<string[]>([])
  const [filter, setFilter] = useState<Record<string, string>>({ state: 'deferred' })
  const [search, setSearch] = useState('')
  return (
    <div className="grid gap-3">
      <LinkTabs
        label="Messages"
        tabs={[
          { href: '/ui#table', label: 'All', count: '124k', isCurrent: true },
          { href: '/ui#waiting', label: 'Waiting', count: '1,204', isCurrent: false },
          { href: '/ui#failed', label: 'Failed', isCurrent: false },
        ]}
      />
      <FilterBar
        filters={FILTERS}
        value={filter}
        onChange={setFilter}
        search={<SearchInput label="Search messages" value={search} onChange={setSearch} />}
        actions={<Button icon={Download}>Export</Button>}
      />
      <Card padding="none">
        <DataTable
          label="Messages"
          columns={COLUMNS}
          rows={rows}
          getRowId={(row) => row.id}
          getHref={(row) => `/ui#${row.id}`}
          height="26rem"
          selectedIds={selected}
          onSelectionChange={setSelected}
          hasMore={rows.length < 2000}
          onEndReached={() => setRows((old) => [...old, ...listMessages(200, old.length)])}
          bulkActions={
            <>
              <Button size="sm" icon={RotateCw}>
                Retry
              </Button>
              <Button size="sm" icon={Ban}>
                Cancel
              </Button>
            </>
          }
        />
      </Card>
    </div>
  )
}

export function Tables() {
  const few = listMessages(4)
  return (
    <Section title="Tables" id="table" description="400 rows and more on demand. j and k move, Enter opens, x selects.">
      <div className="grid gap-4">
        <Messages />
        <div className="grid gap-4 lg:grid-cols-2">
          <Card padding="none">
            <DataTable label="Loading" columns={COLUMNS} rows={null} getRowId={(row) => row.id} />
          </Card>
          <Card padding="none">
            <DataTable label="A short list" isDense columns={COLUMNS} rows={few} getRowId={(row) => row.id} />
          </Card>
        </div>
      </div>
    </Section>
  )
}
