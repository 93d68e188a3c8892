/** The automations of the workspace, with how many contacts are in each. */
import { useNavigate } from '@tanstack/react-router'
import { Plus, Workflow } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createAutomation, getAutomations, type GetAutomationsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { AutomationStatus } from './automation-status.tsx'

const PAGE_SIZE = 50
type Row = GetAutomationsAnswer['data']['automations'][number]

export function AutomationsPage(): ReactNode {
  const { automations } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    getAutomations,
    { query: { limit: PAGE_SIZE } },
    { items: ({ data }) => data.automations, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns = useColumns()
  const create = can('automations:write') ? (
    <Button variant="primary" icon={Plus} onClick={() => changeSearch({ create: '1' })}>
      {automations.create}
    </Button>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0
  return (
    <>
      <PageHeader
        title={automations.title}
        description={automations.description}
        actions={isEmpty ? undefined : create}
      />
      <Card padding="none">
        <DataTable
          label={automations.title}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/automations/${row.id}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={automations.notLoaded} />}
          empty={<EmptyState icon={Workflow} title={automations.empty} text={automations.emptyText} action={create} />}
        />
      </Card>
      <CreateDialog isOpen={search['create'] !== undefined} onClose={() => changeSearch({ create: undefined })} />
    </>
  )
}

function useColumns(): readonly DataColumn<Row>[] {
  const { automations } = useTexts()
  return [
    { id: 'name', header: automations.name, cell: (row) => <span className="truncate font-medium">{row.name}</span> },
    {
      id: 'status',
      header: automations.state,
      cell: (row) => <AutomationStatus status={row.status} />,
      width: '8rem',
    },
    {
      id: 'trigger',
      header: automations.triggerColumn,
      cell: (row) => <span className="truncate">{automations.triggers[row.trigger_type]}</span>,
      width: '15rem',
      priority: 3,
    },
    {
      id: 'active',
      header: automations.active,
      cell: (row) => <NumberText value={row.active_count} />,
      width: '7rem',
      align: 'right',
    },
    {
      id: 'completed',
      header: automations.completed,
      cell: (row) => <NumberText value={row.completed_count} />,
      width: '8rem',
      align: 'right',
      priority: 2,
    },
    {
      id: 'changed',
      header: automations.changed,
      align: 'right',
      cell: (row) => <RelativeTime value={row.updated_at} />,
      width: '10rem',
      priority: 2,
    },
  ]
}

function CreateDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactNode {
  const { automations, ui } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [error, setError] = useState<ApiError | null>(null)
  const create = useAction(createAutomation, {
    invalidates: ['/public/automations'],
    onSuccess: ({ data }) => {
      setName('')
      void navigate({ to: path(`/automations/${data.id}`) })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['name'])
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={automations.create}
      description={automations.createText}
      size="sm"
      onSubmit={() => {
        setError(null)
        create.mutate({
          body: { name: name.trim(), status: 'draft', trigger_type: 'manual', trigger_config: {}, steps: [] },
        })
      }}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={create.isPending}>
            {automations.createIt}
          </Button>
        </>
      }
    >
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <Field label={automations.name} error={errors.of('name')} isRequired>
        <TextInput value={name} onChange={setName} autoFocus autoComplete="off" />
      </Field>
    </Dialog>
  )
}
