import { useState, type FormEvent, type ReactNode } from 'react'
import { changePassword } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { PasswordInput } from '#dashboard/src/ui/password-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

const FIELDS = ['present_password', 'new_password'] as const

export function PasswordForm(): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  const toast = useToast()
  const [present, setPresent] = useState('')
  const [chosen, setChosen] = useState('')
  const change = useAction(changePassword, {
    invalidates: ['/auth/sessions', '/auth/login-methods'],
    onSuccess: () => {
      setPresent('')
      setChosen('')
      toast({ title: texts.passwordChanged })
    },
    onError: () => undefined,
  })
  const errors = formErrors(change.error, FIELDS)
  useFocusOnError(change.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    change.mutate({ body: { present_password: present, new_password: chosen } })
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <Field label={texts.presentPassword} error={errors.of('present_password')}>
        <PasswordInput value={present} onChange={setPresent} autoComplete="current-password" required />
      </Field>
      <Field label={texts.newPassword} hint={texts.passwordHint} error={errors.of('new_password')}>
        <PasswordInput value={chosen} onChange={setChosen} autoComplete="new-password" minLength={12} required />
      </Field>
      <div>
        <Button type="submit" isLoading={change.isPending}>
          {texts.changePassword}
        </Button>
      </div>
    </form>
  )
}
