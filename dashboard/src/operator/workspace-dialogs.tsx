import { useState, type ReactNode } from 'react'
import { adminChangeWorkspace, adminTrustDomain } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'
import { PlanSelect } from './plan-select.tsx'

interface ChangeWorkspaceDialogProps {
  readonly workspace: { readonly id: string; readonly name: string; readonly plan: string }
  readonly onClose: () => void
}

export function ChangeWorkspaceDialog({ workspace, onClose }: ChangeWorkspaceDialogProps): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const [name, setName] = useState(workspace.name)
  const [plan, setPlan] = useState(workspace.plan)
  const change = useOperatorAction(adminChangeWorkspace, ['/admin/workspaces', '/auth/me'])
  const body = {
    ...(name === workspace.name ? {} : { name }),
    ...(plan === workspace.plan ? {} : { plan }),
  }
  return (
    <ActionDialog
      title={texts.changeTitle(workspace.name)}
      text={texts.changeText}
      label={texts.save}
      isReady={Object.keys(body).length > 0}
      fields={['name', 'plan']}
      run={() => change({ params: { workspace: workspace.id }, body })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={texts.name} error={errors.of('name')} isRequired>
            <TextInput value={name} onChange={setName} />
          </Field>
          <Field label={texts.plan} error={errors.of('plan')} isRequired>
            <PlanSelect value={plan} onChange={setPlan} />
          </Field>
        </>
      )}
    </ActionDialog>
  )
}

interface TrustDomainDialogProps {
  readonly workspaceId: string
  readonly onClose: () => void
}

export function TrustDomainDialog({ workspaceId, onClose }: TrustDomainDialogProps): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const [domain, setDomain] = useState('')
  const trust = useOperatorAction(adminTrustDomain, ['/admin/workspaces', '/public/domains'])
  return (
    <ActionDialog
      title={texts.trustTitle}
      text={texts.trustText}
      label={texts.trust}
      isReady={domain.trim() !== ''}
      fields={['domain']}
      run={() => trust({ params: { workspace: workspaceId, domain: domain.trim() } })}
      onClose={onClose}
    >
      {(errors) => (
        <Field label={texts.domain} error={errors.of('domain')} isRequired>
          <TextInput value={domain} onChange={setDomain} isMono placeholder="example.com" />
        </Field>
      )}
    </ActionDialog>
  )
}
