import { useState, type ReactNode } from 'react'
import { createInvitation, type CreatedInvitation, type Member } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useRolesToGive } from './team-columns.tsx'

/** Invites by email. A workspace that cannot send yet gets the link, to be passed on by hand. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { people, ui } = useTexts()
  const texts = people.team
  const toast = useToast()
  const roles = useRolesToGive()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Member['role']>('developer')
  const [created, setCreated] = useState<CreatedInvitation | null>(null)
  const invite = useAction(createInvitation, {
    invalidates: ['/public/invitations'],
    onSuccess: ({ data }) => {
      if (data.link !== null) return setCreated(data)
      toast({ title: texts.mailed(data.email) })
      onClose()
    },
    onError: () => undefined,
  })
  const errors = formErrors(invite.error, ['email', 'role'])
  useFocusOnError(invite.error)
  if (created?.link != null) return <LinkDialog link={created.link} onClose={onClose} />
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.inviteTitle}
      description={texts.inviteText}
      onSubmit={() => invite.mutate({ body: { email, role } })}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button variant="primary" type="submit" isLoading={invite.isPending}>
            {texts.sendInvitation}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={texts.email} error={errors.of('email')} isRequired>
          <TextInput type="email" value={email} onChange={setEmail} autoFocus />
        </Field>
        <Field label={texts.role} error={errors.of('role')}>
          <RadioCards
            label={texts.role}
            value={role}
            onChange={setRole}
            options={roles.map((value) => ({
              value,
              label: texts.roles[value][0] ?? value,
              description: texts.roles[value][1],
            }))}
          />
        </Field>
      </div>
    </Dialog>
  )
}

function LinkDialog({ link, onClose }: { readonly link: string; readonly onClose: () => void }): ReactNode {
  const { people } = useTexts()
  const texts = people.team
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.linkTitle}
      description={texts.linkText}
      footer={
        <Button variant="primary" onClick={onClose}>
          {texts.done}
        </Button>
      }
    >
      <CopyField value={link} label={texts.link} />
    </Dialog>
  )
}
