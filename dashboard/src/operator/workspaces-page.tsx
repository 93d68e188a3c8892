/** All workspaces of the installation. */
import { Building2, Plus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { adminCreateWorkspace, adminListWorkspaces, type Workspace } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'
import { ListTable } from './loaded.tsx'
import { PlanSelect } from './plan-select.tsx'

export function WorkspacesPage(): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    adminListWorkspaces,
    { query: { limit: 100 } },
    { items: ({ data }) => data.workspaces, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns: readonly DataColumn<Workspace>[] = [
    { id: 'name', header: texts.name, cell: ({ name }) => name },
    { id: 'plan', header: texts.plan, cell: ({ plan }) => <Badge>{plan}</Badge>, width: '9rem' },
    {
      id: 'key',
      header: texts.keyPart,
      cell: (row) => <code className="font-mono text-sm">{row.key_part}</code>,
      width: '30%',
      priority: 3,
    },
    {
      id: 'created',
      header: texts.created,
      align: 'right',
      cell: (row) => <DateTime value={row.created_at} precision="day" />,
      width: '9rem',
      priority: 2,
    },
  ]
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <Button variant="primary" icon={Plus} onClick={() => changeSearch({ create: 'workspace' })}>
            {texts.create}
          </Button>
        }
      />
      <ListTable
        list={list}
        label={texts.title}
        columns={columns}
        getRowId={({ id }) => id}
        getHref={({ id }) => operatorPath(`/workspaces/${id}`)}
        empty={<EmptyState icon={Building2} title={texts.empty} />}
      />
      {search['create'] === 'workspace' && (
        <CreateWorkspaceDialog onClose={() => changeSearch({ create: undefined })} />
      )}
    </>
  )
}

function CreateWorkspaceDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const [name, setName] = useState('')
  const [plan, setPlan] = useState<string | null>(null)
  const create = useOperatorAction(adminCreateWorkspace, ['/admin/workspaces'])
  return (
    <ActionDialog
      title={texts.create}
      text={texts.createText}
      label={texts.create}
      isReady={name.trim() !== ''}
      fields={['name', 'plan']}
      run={() => create({ body: { name, ...(plan === null ? {} : { plan }) } })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={texts.name} error={errors.of('name')} isRequired>
            <TextInput value={name} onChange={setName} />
          </Field>
          <Field label={texts.plan} error={errors.of('plan')} isOptional>
            <PlanSelect value={plan} onChange={setPlan} />
          </Field>
        </>
      )}
    </ActionDialog>
  )
}
