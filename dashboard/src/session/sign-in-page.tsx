/**
 * Signing in: with a password and a second factor, a passkey, or an identity provider. The page stays at the address
 * that was asked for, and shows it after the login.
 */
import { useQueryClient } from '@tanstack/react-query'
import { KeyRound } from '#dashboard/src/ui/icons.tsx'
import { useState, type FormEvent, type ReactNode } from 'react'
import { ApiError, send } from '#dashboard/src/api/endpoint.ts'
import {
  getMe,
  listIdentityProviders,
  login,
  passkeyLogin,
  startPasskeyLogin,
  startProviderLogin,
  type StartedSession,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { PasswordInput } from '#dashboard/src/ui/password-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { hasPasskeys, requestPasskey } from './passkey.ts'
import { SecondFactorForm } from './second-factor-form.tsx'
import { SignInLayout } from './sign-in-layout.tsx'

export function SignInPage(): ReactNode {
  const { session: texts } = useTexts()
  const client = useQueryClient()
  const [pending, setPending] = useState<StartedSession | null>(null)
  const finish = (started: StartedSession): void => {
    if (started.status === 'second_factor') setPending(started)
    else void client.resetQueries({ queryKey: [getMe.path] })
  }
  if (pending !== null)
    return <SecondFactorForm login={pending} onSignedIn={finish} onRestart={() => setPending(null)} />
  return (
    <SignInLayout title={texts.signIn}>
      <PasswordForm onSignedIn={finish} />
      <OtherMethods onSignedIn={finish} />
      <p className="text-sm text-muted">{texts.noAccount}</p>
    </SignInLayout>
  )
}

interface MethodProps {
  readonly onSignedIn: (started: StartedSession) => void
}

function PasswordForm({ onSignedIn }: MethodProps): ReactNode {
  const { session: texts } = useTexts()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<ApiError | null>(null)
  const signIn = useAction(login, { onSuccess: ({ data }) => onSignedIn(data), onError: setError })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setError(null)
    signIn.mutate({ body: { email, password } })
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {error !== null && <Callout tone="danger">{error.message}</Callout>}
      <Field label={texts.email}>
        <TextInput type="email" autoComplete="username" required value={email} onChange={setEmail} />
      </Field>
      <Field label={texts.password}>
        <PasswordInput autoComplete="current-password" required value={password} onChange={setPassword} />
      </Field>
      <Button type="submit" variant="primary" isLoading={signIn.isPending}>
        {texts.signIn}
      </Button>
    </form>
  )
}

function OtherMethods({ onSignedIn }: MethodProps): ReactNode {
  const { session: texts } = useTexts()
  const [error, setError] = useState<string | null>(null)
  const providers = useApi(listIdentityProviders, {}, { staleMs: Number.POSITIVE_INFINITY })
  const toProvider = useAction(startProviderLogin, {
    onSuccess: ({ data }) => globalThis.location.assign(data.authorize_url),
    onError: ({ message }) => setError(message),
  })
  const names = providers.data?.data.providers ?? []
  const withPasskey = async (): Promise<void> => {
    setError(null)
    try {
      const { data } = await send(startPasskeyLogin, { body: {} })
      const response = await requestPasskey(data.options)
      onSignedIn((await send(passkeyLogin, { body: { token: data.token, response } })).data)
    } catch (failure) {
      setError(failure instanceof ApiError ? failure.message : texts.passkeyCancelled)
    }
  }
  if (!hasPasskeys() && names.length === 0) return null
  return (
    <div className="flex flex-col gap-3">
      <p className="flex items-center gap-3 text-sm text-faint before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        {texts.or}
      </p>
      {error !== null && <Callout tone="danger">{error}</Callout>}
      {names.map(({ name, label }) => (
        <Button
          key={name}
          isLoading={toProvider.isPending && toProvider.variables.params.name === name}
          onClick={() => toProvider.mutate({ params: { name }, body: { return_to: returnPath() } })}
        >
          {texts.withProvider(label)}
        </Button>
      ))}
      {hasPasskeys() && (
        <Button icon={KeyRound} onClick={() => void withPasskey()}>
          {texts.withPasskey}
        </Button>
      )}
      <LinkText href="/about" className="mt-1 text-center text-sm">
        {texts.about}
      </LinkText>
    </div>
  )
}

/** Where to continue after the provider; only characters that the API accepts. */
function returnPath(): string {
  const { pathname, search } = globalThis.location
  return /^\/(?![/\\])[\u0021-\u005B\u005D-\u007E]*$/.test(pathname + search) ? pathname + search : '/'
}
