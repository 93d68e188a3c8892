import { useState, type ReactNode } from 'react'
import { adminInviteUser, type AdminInviteUserBody } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'

/** A link that is shown once. */
export interface NewLink {
  readonly email: string
  readonly link: string
}

type Role = NonNullable<AdminInviteUserBody['role']>
const ROLES: readonly Role[] = ['owner', 'admin', 'developer', 'marketer', 'viewer']

interface InviteUserDialogProps {
  readonly onClose: () => void
  readonly onLink: (link: NewLink) => void
}

export function InviteUserDialog({ onClose, onLink }: InviteUserDialogProps): ReactNode {
  const { operator, administration } = useTexts()
  const { users: texts } = administration
  const [email, setEmail] = useState('')
  const [isOperator, setOperator] = useState(false)
  const [workspace, setWorkspace] = useState('')
  const [role, setRole] = useState<Role>('owner')
  const invite = useOperatorAction(adminInviteUser, ['/admin/users', '/admin/invitations'])
  const body = {
    email,
    ...(isOperator ? { is_operator: true } : {}),
    ...(workspace === '' ? {} : { workspace, role }),
  }
  return (
    <ActionDialog
      title={texts.invite}
      text={texts.inviteText}
      label={texts.invite}
      isReady={email.trim() !== '' && (isOperator || workspace.trim() !== '')}
      fields={['email', 'is_operator', 'workspace', 'role']}
      run={async () => {
        const { data } = await invite({ body })
        onLink({ email, link: data.link })
      }}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={texts.email} error={errors.of('email')} isRequired>
            <TextInput type="email" value={email} onChange={setEmail} />
          </Field>
          <Field label={operator.workspace} hint={texts.workspaceHint} error={errors.of('workspace')}>
            <TextInput value={workspace} onChange={setWorkspace} />
          </Field>
          {workspace !== '' && (
            <Field label={texts.role} error={errors.of('role')}>
              <Select
                value={role}
                onChange={setRole}
                options={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
              />
            </Field>
          )}
          <Checkbox
            isChecked={isOperator}
            onChange={setOperator}
            label={texts.mayOperate}
            hint={texts.mayOperateHint}
          />
        </>
      )}
    </ActionDialog>
  )
}
