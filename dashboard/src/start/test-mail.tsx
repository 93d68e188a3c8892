/** Sends a first message from a verified domain. Its id stays in the address, so that its way can be watched again. */
import { Send } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { getDomains, sendInstant } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan, useSession } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

export function TestMail(): ReactNode {
  const { start } = useTexts()
  const can = useCan()
  const domains = useApi(getDomains, { query: { limit: 100 } }, { isEnabled: can('domains:read') })
  if (!can('mail:send') || !can('domains:read')) return <Note>{start.maySendNothing}</Note>
  if (domains.isPending) return <Skeleton className="mt-3 h-16 w-full" />
  const verified = (domains.data?.data ?? []).filter(({ status }) => status === 'verified').map((one) => one.domain)
  if (verified.length === 0) return <Note>{start.noVerifiedDomain}</Note>
  return <TestMailForm domains={verified} />
}

function Note({ children }: { readonly children: ReactNode }): ReactNode {
  return <p className="mt-2 text-sm text-muted">{children}</p>
}

function TestMailForm({ domains }: { readonly domains: readonly string[] }): ReactNode {
  const { start } = useTexts()
  const { email } = useSession().user
  const [, changeSearch] = useAddressSearch()
  const senders = domains.map((domain) => `hello@${domain}`)
  const [chosen, setFrom] = useState<string | null>(null)
  const [to, setTo] = useState(email)
  const from = chosen ?? senders[0] ?? ''
  const send = useAction(sendInstant, {
    invalidates: ['/public/emails', '/public/checklist', '/public/queue'],
    onSuccess: ({ email_id: id }) => changeSearch({ message: id }),
    onError: () => undefined, // shown in the form
  })
  useFocusOnError(send.error)
  const errors = formErrors(send.error, ['from', 'to'])
  const submit = (): void =>
    send.mutate({ body: { from, to: to.trim(), subject: start.testSubject, html: start.testHtml } })
  return (
    <form
      noValidate
      className="mt-3 flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <div className="grid items-start gap-3 sm:grid-cols-2">
        <Field label={start.from} error={errors.of('from')}>
          <Select
            value={from}
            onChange={setFrom}
            options={senders.map((value) => ({ value, label: value }))}
            className="w-full"
          />
        </Field>
        <Field label={start.to} error={errors.of('to')}>
          <TextInput type="email" autoComplete="email" value={to} onChange={setTo} />
        </Field>
      </div>
      {errors.rest !== null && (
        <p role="alert" className="text-sm text-danger-text">
          {errors.rest}
        </p>
      )}
      <div>
        <Button type="submit" variant="primary" icon={Send} isLoading={send.isPending}>
          {start.sendTest}
        </Button>
      </div>
    </form>
  )
}
