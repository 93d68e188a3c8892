import { Ellipsis } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import {
  adminChangeUser,
  adminDeleteUser,
  adminDisableUser,
  adminEnableUser,
  adminResetPassword,
  adminResetSecondFactors,
  type User,
} from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { useOperatorAction, type Confirmation } from './confirmation.tsx'
import type { NewLink } from './invite-user-dialog.tsx'

const CHANGED = ['/admin/users']

interface UserMenuProps {
  readonly user: User
  readonly ask: (confirmation: Confirmation) => void
  readonly onLink: (link: NewLink) => void
}

/** What can be done about an account; each asks first. */
export function UserMenu({ user, ask, onLink }: UserMenuProps): ReactNode {
  const { administration } = useTexts()
  const { users: texts } = administration
  const change = useOperatorAction(adminChangeUser, CHANGED)
  const disable = useOperatorAction(adminDisableUser, CHANGED)
  const enable = useOperatorAction(adminEnableUser, CHANGED)
  const resetPassword = useOperatorAction(adminResetPassword, CHANGED)
  const resetFactors = useOperatorAction(adminResetSecondFactors, CHANGED)
  const remove = useOperatorAction(adminDeleteUser, CHANGED)
  const params = { id: user.id }
  type Verb = 'disable' | 'enable' | 'reset' | 'resetFactors' | 'grant' | 'withdraw' | 'delete'
  const item = (verb: Verb, run: () => Promise<unknown>, isDanger = false) => ({
    label: texts[verb],
    isDanger,
    onSelect: () =>
      ask({
        title: texts[`${verb}Title`](user.name),
        text: texts[`${verb}Text`],
        label: texts[verb],
        isDanger,
        run,
        ...(verb === 'delete' ? { typeToConfirm: user.email } : {}),
      }),
  })
  const reset = async (): Promise<void> => {
    const { data } = await resetPassword({ params })
    onLink({ email: user.email, link: data.link })
  }
  const groups = [
    {
      items: [
        item('reset', reset),
        item('resetFactors', () => resetFactors({ params })),
        user.is_operator
          ? item('withdraw', () => change({ params, body: { is_operator: false } }))
          : item('grant', () => change({ params, body: { is_operator: true } })),
      ],
    },
    {
      items: [
        user.disabled_at === null
          ? item('disable', () => disable({ params }), true)
          : item('enable', () => enable({ params })),
        item('delete', () => remove({ params }), true),
      ],
    },
  ]
  return <Menu trigger={<IconButton size="sm" icon={Ellipsis} label={texts.more(user.name)} />} groups={groups} />
}
