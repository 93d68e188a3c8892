import { useState, type FormEvent, type ReactNode } from 'react'
import { changeMe, startEmailChange } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useSession } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

/** Name and address. A new address counts once the link that goes there was opened. */
export function ProfileForms(): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  const toast = useToast()
  const { user } = useSession()
  const [name, setName] = useState(user.name)
  const [email, setEmail] = useState(user.email)
  const rename = useAction(changeMe, {
    invalidates: ['/auth/me'],
    onSuccess: () => toast({ title: texts.saved }),
    onError: () => undefined,
  })
  const move = useAction(startEmailChange, {
    onSuccess: () => toast({ title: texts.emailSent }),
    onError: () => undefined,
  })
  const submitName = (event: FormEvent): void => {
    event.preventDefault()
    rename.mutate({ body: { name } })
  }
  const submitEmail = (event: FormEvent): void => {
    event.preventDefault()
    move.mutate({ body: { email } })
  }
  return (
    <div className="flex flex-col gap-5">
      <form onSubmit={submitName} className="flex flex-wrap items-end gap-3">
        <Field label={texts.name} error={rename.error?.message} className="min-w-60 flex-1">
          <TextInput value={name} onChange={setName} autoComplete="name" maxLength={100} required />
        </Field>
        <Button type="submit" disabled={name.trim() === user.name} isLoading={rename.isPending}>
          {texts.save}
        </Button>
      </form>
      <form onSubmit={submitEmail} className="flex flex-wrap items-end gap-3">
        <Field label={texts.email} error={move.error?.message} className="min-w-60 flex-1">
          <TextInput type="email" value={email} onChange={setEmail} autoComplete="email" required />
        </Field>
        <Button type="submit" disabled={email.trim() === user.email} isLoading={move.isPending}>
          {texts.changeEmail}
        </Button>
      </form>
    </div>
  )
}
