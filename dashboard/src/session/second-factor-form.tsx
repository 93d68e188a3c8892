import { KeyRound } from '#dashboard/src/ui/icons.tsx'
import { useState, type FormEvent, type ReactNode } from 'react'
import { ApiError, send } from '#dashboard/src/api/endpoint.ts'
import { finishLogin, startSecondFactorPasskey, type StartedSession } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { hasPasskeys, requestPasskey } from './passkey.ts'
import { SignInLayout } from './sign-in-layout.tsx'

interface SecondFactorFormProps {
  readonly login: StartedSession
  readonly onSignedIn: (started: StartedSession) => void
  readonly onRestart: () => void
}

/** Asks for the second factor of a login: a code, or a passkey. */
export function SecondFactorForm({ login, onSignedIn, onRestart }: SecondFactorFormProps): ReactNode {
  const { session: texts } = useTexts()
  const [code, setCode] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [isPending, setPending] = useState(false)
  const loginToken = login.login_token ?? ''
  const factors: readonly string[] = login.second_factors
  // a user with passkeys only has no app that shows a code
  const hasCodes = factors.some((factor) => factor !== 'passkey')
  const attempt = async (finish: () => Promise<StartedSession>): Promise<void> => {
    setError(null)
    setPending(true)
    try {
      onSignedIn(await finish())
    } catch (failure) {
      setError(failure instanceof ApiError ? failure.message : texts.passkeyCancelled)
    }
    setPending(false)
  }
  const withCode = async (): Promise<StartedSession> =>
    (await send(finishLogin, { body: { login_token: loginToken, code: code.trim() } })).data
  const withPasskey = async (): Promise<StartedSession> => {
    const { data } = await send(startSecondFactorPasskey, { body: { login_token: loginToken } })
    const passkey = { token: data.token, response: await requestPasskey(data.options) }
    return (await send(finishLogin, { body: { login_token: loginToken, passkey } })).data
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void attempt(withCode)
  }
  return (
    <SignInLayout
      title={texts.secondFactor}
      text={hasCodes ? texts.secondFactorText : hasPasskeys() ? texts.passkeyText : texts.noPasskeyHere}
    >
      {error !== null && <Callout tone="danger">{error}</Callout>}
      {hasCodes && (
        <form onSubmit={submit} className="flex flex-col gap-4">
          <Field label={texts.code}>
            <TextInput value={code} onChange={setCode} autoComplete="one-time-code" required autoFocus isMono />
          </Field>
          <Button type="submit" variant="primary" isLoading={isPending}>
            {texts.confirm}
          </Button>
        </form>
      )}
      {factors.includes('passkey') && hasPasskeys() && (
        <Button
          icon={KeyRound}
          variant={hasCodes ? 'secondary' : 'primary'}
          isLoading={isPending && !hasCodes}
          onClick={() => void attempt(withPasskey)}
        >
          {texts.usePasskey}
        </Button>
      )}
      <Button variant="ghost" onClick={onRestart}>
        {texts.startAgain}
      </Button>
    </SignInLayout>
  )
}
