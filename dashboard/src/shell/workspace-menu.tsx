import { useNavigate } from '@tanstack/react-router'
import { Building2, ChevronsUpDown, Plus, ShieldCheck } from '#dashboard/src/ui/icons.tsx'
import { useState, type FormEvent, type ReactNode } from 'react'
import { createWorkspace, getMe } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { Logo } from '#dashboard/src/session/logo.tsx'
import { useSession, type Workspace } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { operatorPath, workspacePath } from './paths.ts'

/** Which workspace the pages show, and the way to others and to the operator area. */
export function WorkspaceMenu({ workspace }: { readonly workspace: Workspace | null }): ReactNode {
  const { shell } = useTexts()
  const { workspaces, is_operator: isOperator, may_create_workspaces: mayCreate } = useSession()
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            className="flex w-full min-w-0 items-center gap-2.5 rounded-md px-1.5 py-1.5 text-left hover:bg-hover"
          >
            <Logo size={24} />
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium">{workspace?.name ?? shell.operatorArea}</span>
            </span>
            <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-faint" />
          </button>
        }
        groups={[
          {
            label: shell.workspaces,
            items: [
              ...workspaces.map(({ id, name, role }) => ({
                label: name,
                description: role,
                icon: Building2,
                isChecked: id === workspace?.id,
                href: workspacePath(id, '/overview'),
              })),
              ...(mayCreate ? [{ label: shell.newWorkspace, icon: Plus, onSelect: () => setCreating(true) }] : []),
            ],
          },
          ...(isOperator
            ? [{ items: [{ label: shell.operatorArea, icon: ShieldCheck, href: operatorPath('/desk') }] }]
            : []),
        ]}
      />
      {isCreating && <NewWorkspaceDialog onClose={() => setCreating(false)} />}
    </>
  )
}

function NewWorkspaceDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { shell } = useTexts()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = useAction(createWorkspace, {
    invalidates: [getMe.path.replace('/api/v1', '')],
    onSuccess: ({ data }) => {
      onClose()
      void navigate({ to: workspacePath(data.id, '/start') })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate({ body: { name } })
  }
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={shell.newWorkspace}
      footer={
        <>
          <Button onClick={onClose}>{shell.cancel}</Button>
          <Button variant="primary" type="submit" form="new-workspace" isLoading={create.isPending}>
            {shell.create}
          </Button>
        </>
      }
    >
      <form id="new-workspace" onSubmit={submit}>
        <Field label={shell.newWorkspaceName} error={create.error?.message}>
          <TextInput value={name} onChange={setName} required maxLength={100} autoFocus />
        </Field>
      </form>
    </Dialog>
  )
}
