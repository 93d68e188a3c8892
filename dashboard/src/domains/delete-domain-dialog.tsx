/** Deletes a domain, after it said what stops working. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { deleteDomain, listApiKeys, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

interface DeleteDomainDialogProps {
  readonly domain: Domain
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function DeleteDomainDialog({ domain, isOpen, onClose }: DeleteDomainDialogProps): ReactNode {
  const { domains } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const can = useCan()
  const [error, setError] = useState<string | null>(null)
  const keys = useApi(
    listApiKeys,
    { query: { type: 'regular', limit: 100 } },
    { isEnabled: isOpen && can('keys:read') },
  )
  const affected = keys.data?.data.keys.filter((key) => key.domain_id === domain.id && key.is_active) ?? []
  const remove = useAction(deleteDomain, {
    invalidates: ['/public/domains', '/public/api-keys', '/public/checklist', '/public/attention'],
    onSuccess: () => {
      toast({ title: domains.removed(domain.domain) })
      void navigate({ to: path('/domains') })
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={domains.removeTitle(domain.domain)}
      text={
        <>
          <p>{domains.removeText}</p>
          <ul className="mt-2 list-disc space-y-1 pl-5">
            <li>
              {affected.length === 0 ? domains.removeKeys : domains.removeNamedKeys(affected.map((key) => key.name))}
            </li>
            <li>{domains.removeMail}</li>
            <li>{domains.removeRecords}</li>
          </ul>
        </>
      }
      confirmLabel={domains.remove}
      typeToConfirm={domain.domain}
      isDanger
      isLoading={remove.isPending}
      error={error}
      onConfirm={() => remove.mutate({ params: { id: domain.id } })}
    />
  )
}
