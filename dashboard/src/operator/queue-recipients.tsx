/** The recipients that wait, soonest due first, with what the operator can do to all that match the filters. */
import type { ReactNode } from 'react'
import { adminListQueue, type OpenRecipient } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { ListTable } from './loaded.tsx'
import { QUEUE_FILTERS, QUEUE_STATES, TIERS, toQueueFilter } from './queue-filter.ts'
import { isQueueVerb, QUEUE_VERBS, QueueActionDialog } from './queue-action-dialog.tsx'
import { ExplanationSheet } from './explanation-sheet.tsx'
import { useWorkspaceNames } from './workspace-names.ts'

export function QueueRecipients(): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const [search, changeSearch] = useAddressSearch()
  const filter = toQueueFilter(search)
  const list = useApiList(
    adminListQueue,
    { query: { ...filter, limit: 100 } },
    { items: ({ data }) => data.recipients, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const columns = useQueueColumns()
  const verb = search['action']
  const isFiltered = Object.keys(filter).length > 0
  return (
    <div className="flex flex-col gap-4">
      <QueueFilters />
      <ListTable
        list={list}
        label={texts.views.waiting}
        columns={columns}
        getRowId={(row) => `${row.email_id} ${row.recipient}`}
        onOpen={(row) => changeSearch({ explain: row.email_id })}
        empty={
          isFiltered ? (
            <EmptyState title={texts.emptyFiltered} />
          ) : (
            <EmptyState title={texts.empty} text={texts.emptyText} />
          )
        }
      />
      <ExplanationSheet id={search['explain'] ?? null} onClose={() => changeSearch({ explain: undefined })} />
      {isQueueVerb(verb) && (
        <QueueActionDialog verb={verb} filter={filter} onClose={() => changeSearch({ action: undefined })} />
      )}
    </div>
  )
}

function QueueFilters(): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const [search, changeSearch] = useAddressSearch()
  const set = Object.fromEntries(Object.entries(toQueueFilter(search)).map(([name, value]) => [name, value]))
  const clear = Object.fromEntries(QUEUE_FILTERS.map((name) => [name, undefined]))
  return (
    <FilterBar
      filters={[
        { key: 'domain', label: operator.domain, placeholder: 'example.com' },
        { key: 'site', label: operator.site, placeholder: 'mx.example.com' },
        { key: 'workspace', label: operator.workspace },
        { key: 'campaign', label: operator.campaign },
        { key: 'tier', label: operator.tier, options: TIERS.map((value) => ({ value, label: value })) },
        {
          key: 'state',
          label: operator.state,
          options: QUEUE_STATES.map((value) => ({ value, label: texts.states[value] })),
        },
        { key: 'message', label: texts.message, placeholder: 'em_…' },
        { key: 'older_than', label: texts.olderThan, placeholder: '10m, 2h, 1d' },
      ]}
      value={set}
      onChange={(value) => changeSearch({ ...clear, ...value })}
      actions={QUEUE_VERBS.map((verb) => (
        <Button
          key={verb}
          size="sm"
          variant={verb === 'retry' ? 'secondary' : 'ghost'}
          onClick={() => changeSearch({ action: verb })}
        >
          {texts[verb]}
        </Button>
      ))}
    />
  )
}

function useQueueColumns(): readonly DataColumn<OpenRecipient>[] {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const nameOf = useWorkspaceNames()
  return [
    {
      id: 'recipient',
      header: operator.recipient,
      cell: (row) => <EmailAddress address={row.recipient} />,
      width: '24%',
    },
    {
      id: 'workspace',
      header: operator.workspace,
      cell: (row) => nameOf(row.workspace_id),
      width: '10rem',
      priority: 3,
    },
    { id: 'tier', header: operator.tier, cell: (row) => row.tier, width: '5.5rem', priority: 3 },
    {
      id: 'state',
      header: operator.state,
      cell: (row) => <MessageStatusBadge status={row.state} />,
      width: '9rem',
    },
    { id: 'due', header: texts.due, cell: (row) => <RelativeTime value={row.due_at} />, width: '7.5rem', priority: 2 },
    { id: 'tries', header: texts.tries, cell: (row) => row.tries, width: '5.5rem', align: 'right', priority: 3 },
    {
      id: 'why',
      header: texts.why,
      cell: (row) => (
        <span className="text-muted" title={row.reason ?? undefined}>
          {row.reason ?? '–'}
        </span>
      ),
      priority: 2,
    },
  ]
}
