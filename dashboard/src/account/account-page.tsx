/** How a person signs in: profile, password, second factors, passkeys and sessions. It belongs to no workspace. */
import { ArrowLeft, LogOut } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { deleteMe } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useSession, useSignOut } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { LoginMethods } from './login-methods.tsx'
import { PasswordForm } from './password-form.tsx'
import { ProfileForms } from './profile-forms.tsx'
import { SessionList } from './session-list.tsx'

export function AccountPage(): ReactNode {
  const { people, shell, ui } = useTexts()
  const texts = people.account
  const signOut = useSignOut()
  const { needs_second_factor: needsFactor } = useSession()
  return (
    <main id="content" className="mx-auto min-h-dvh w-full max-w-3xl px-4 py-8 sm:px-6">
      {!needsFactor && (
        <ButtonLink href="/" variant="ghost" size="sm" icon={ArrowLeft} className="mb-4 -ml-2">
          {ui.back}
        </ButtonLink>
      )}
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <Button icon={LogOut} onClick={signOut}>
            {shell.signOut}
          </Button>
        }
      />
      <div className="flex flex-col gap-10">
        {needsFactor && <Callout tone="warning">{texts.mandatory}</Callout>}
        <Section title={texts.profile}>
          <Card>
            <ProfileForms />
          </Card>
        </Section>
        <Section title={texts.password} description={texts.passwordText}>
          <Card>
            <PasswordForm />
          </Card>
        </Section>
        <LoginMethods />
        <SessionList />
        <DeleteAccount />
      </div>
    </main>
  )
}

function DeleteAccount(): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  const { user } = useSession()
  const [isOpen, setOpen] = useState(false)
  const remove = useAction(deleteMe, { onSuccess: () => globalThis.location.assign('/'), onError: () => undefined })
  return (
    <Section title={texts.deleteAccount} description={texts.deleteText}>
      <Button variant="danger" onClick={() => setOpen(true)}>
        {texts.deleteAccount}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title={texts.deleteAccount}
        text={texts.deleteText}
        confirmLabel={texts.deleteConfirm}
        typeToConfirm={user.email}
        isDanger
        isLoading={remove.isPending}
        error={remove.error?.message}
        onConfirm={() => remove.mutate({})}
      />
    </Section>
  )
}
