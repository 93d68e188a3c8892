/** What else one can do with a template: copy its id, or delete it. */
import { useNavigate } from '@tanstack/react-router'
import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import { Copy, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { deleteTemplate } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { useCopy } from '#dashboard/src/ui/copy-button.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

interface TemplateMenuProps {
  readonly template: { readonly id: string; readonly name: string }
  readonly icon: IconComponent
}

export function TemplateMenu({ template: { id, name }, icon }: TemplateMenuProps): ReactNode {
  const { templates } = useTexts()
  const can = useCan()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const [isOpen, setOpen] = useState(false)
  const [, copyId] = useCopy(id)
  const remove = useAction(deleteTemplate, {
    onError: () => undefined,
    onSuccess: () => {
      setOpen(false)
      toast({ tone: 'success', title: templates.deleted(name) })
      void navigate({ to: path('/templates'), ignoreBlocker: true })
    },
    invalidates: ['/templates'],
  })
  const danger = can('templates:write')
    ? [{ items: [{ label: templates.delete, icon: Trash2, isDanger: true, onSelect: () => setOpen(true) }] }]
    : []
  return (
    <>
      <Menu
        trigger={<IconButton variant="secondary" icon={icon} label={templates.more} />}
        groups={[{ items: [{ label: templates.copyId, icon: Copy, onSelect: copyId }] }, ...danger]}
      />
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title={templates.deleteTitle(name)}
        text={templates.deleteText}
        confirmLabel={templates.delete}
        onConfirm={() => remove.mutate({ params: { id } })}
        isLoading={remove.isPending}
        error={remove.error?.message}
        isDanger
      />
    </>
  )
}
