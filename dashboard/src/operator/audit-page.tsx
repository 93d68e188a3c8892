/** Who changed what in the whole service; an entry opens with the values before and after. */
import type { ReactNode } from 'react'
import { adminListAuditLog, type AuditEntry } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DiffView } from '#dashboard/src/ui/diff-view.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { changeTexts } from './audit-change.ts'
import { ListTable } from './loaded.tsx'
import { useWorkspaceNames } from './workspace-names.ts'

const FILTERS = ['action', 'actor', 'object_type', 'object_id', 'workspace_id'] as const

export function AuditPage(): ReactNode {
  const { operator, administration } = useTexts()
  const { audit: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const filter = Object.fromEntries(FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : [])))
  const list = useApiList(
    adminListAuditLog,
    { query: { ...filter, limit: 50 } },
    { items: ({ data }) => data.entries, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const columns = useAuditColumns()
  const cleared = Object.fromEntries(FILTERS.map((name) => [name, undefined]))
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <div className="flex flex-col gap-4">
        <FilterBar
          filters={[
            { key: 'action', label: texts.action, placeholder: 'delete-domain' },
            { key: 'actor', label: texts.actor, placeholder: '01a2…' },
            { key: 'object_type', label: texts.objectType, placeholder: 'api_key' },
            { key: 'object_id', label: texts.objectId },
            { key: 'workspace_id', label: operator.workspace },
          ]}
          value={filter}
          onChange={(value) => changeSearch({ ...cleared, ...value })}
        />
        <ListTable
          list={list}
          label={texts.title}
          columns={columns}
          getRowId={({ id }) => id}
          onOpen={({ id }) => changeSearch({ entry: id })}
          currentId={search['entry']}
          empty={<EmptyState title={texts.empty} />}
        />
      </div>
      <EntrySheet
        entry={list.items.find(({ id }) => id === search['entry']) ?? null}
        onClose={() => changeSearch({ entry: undefined })}
      />
    </>
  )
}

function useAuditColumns(): readonly DataColumn<AuditEntry>[] {
  const { operator, administration } = useTexts()
  const { audit: texts } = administration
  const nameOf = useWorkspaceNames()
  return [
    { id: 'time', header: texts.time, cell: (row) => <RelativeTime value={row.created_at} />, width: '9.5rem' },
    { id: 'actor', header: texts.actor, cell: ({ actor }) => actorName(actor), width: '26%', priority: 2 },
    { id: 'action', header: texts.action, cell: ({ action }) => <Badge>{action}</Badge> },
    {
      id: 'object',
      header: texts.object,
      cell: ({ object }) => `${object.type} ${object.id}`,
      width: '26%',
      priority: 3,
    },
    {
      id: 'workspace',
      header: operator.workspace,
      cell: (row) => (row.workspace_id === null ? texts.service : nameOf(row.workspace_id)),
      width: '10rem',
      priority: 3,
    },
  ]
}

function actorName({ name, id, type }: AuditEntry['actor']): string {
  return name ?? id ?? type
}

interface EntrySheetProps {
  readonly entry: AuditEntry | null
  readonly onClose: () => void
}

function EntrySheet({ entry, onClose }: EntrySheetProps): ReactNode {
  return (
    <Sheet isOpen={entry !== null} onOpenChange={(open) => !open && onClose()} title={entry?.action ?? ''}>
      {entry !== null && <EntryDetails entry={entry} />}
    </Sheet>
  )
}

function EntryDetails({ entry }: { readonly entry: AuditEntry }): ReactNode {
  const { operator, administration } = useTexts()
  const { audit: texts } = administration
  const nameOf = useWorkspaceNames()
  const { before, after } = changeTexts(entry)
  return (
    <div className="flex flex-col gap-6">
      <KeyValueList
        items={[
          { label: texts.time, value: <DateTime value={entry.created_at} precision="second" /> },
          { label: texts.actor, value: `${texts.actorTypes[entry.actor.type]}: ${actorName(entry.actor)}` },
          {
            label: texts.object,
            value: (
              <span className="break-all">
                {entry.object.type} {entry.object.id} ({texts.changes[entry.change]})
              </span>
            ),
          },
          {
            label: operator.workspace,
            value: entry.workspace_id === null ? texts.service : nameOf(entry.workspace_id),
          },
          { label: texts.ip, value: entry.ip_address ?? '–' },
          {
            label: texts.request,
            value: <code className="font-mono text-sm break-all">{entry.request_id ?? '–'}</code>,
          },
        ]}
      />
      <Section title={texts.changed}>
        {before === after ? (
          <p className="text-muted">{texts.nothing}</p>
        ) : (
          <DiffView label={texts.changed} before={before} after={after} />
        )}
      </Section>
    </div>
  )
}
