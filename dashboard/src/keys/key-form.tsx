/** What both kinds of keys have: a name, an expiry, networks. */
import { useState, type ReactNode } from 'react'
import type { FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { isNetwork } from './networks.ts'

interface KeyForm {
  readonly name: string
  readonly expiresAt: string | null
  readonly networks: readonly string[]
}

export interface KeyFormState {
  readonly form: KeyForm
  readonly change: (change: Partial<KeyForm>) => void
  readonly reset: () => void
}

const EMPTY: KeyForm = { name: '', expiresAt: null, networks: [] }

/** @param start what the key has; by default that of a new one */
export function useKeyForm(start: KeyForm = EMPTY): KeyFormState {
  const [form, setForm] = useState(start)
  return { form, change: (change) => setForm((old) => ({ ...old, ...change })), reset: () => setForm(EMPTY) }
}

interface PartProps {
  readonly state: KeyFormState
  readonly errors: FormErrors
}

export function NameField({ state, errors }: PartProps): ReactNode {
  const { keys } = useTexts()
  return (
    <Field label={keys.name} hint={keys.nameHint} error={errors.of('name')} isRequired>
      <TextInput value={state.form.name} onChange={(name) => state.change({ name })} autoComplete="off" autoFocus />
    </Field>
  )
}

export function LimitFields({ state, errors }: PartProps): ReactNode {
  const { keys } = useTexts()
  return (
    <>
      <Field label={keys.expires} hint={keys.expiresHint} error={errors.of('expires_at')} isOptional>
        <DateTimeInput value={state.form.expiresAt} onChange={(expiresAt) => state.change({ expiresAt })} />
      </Field>
      <Field label={keys.networks} hint={keys.networksHint} error={errors.of('allowed_networks')} isOptional>
        <TagInput
          value={state.form.networks}
          onChange={(networks) => state.change({ networks })}
          isValid={isNetwork}
          placeholder="192.0.2.0/24"
        />
      </Field>
    </>
  )
}
