/** Who a draft is from, and where replies go. */
import { useId, type ReactNode } from 'react'
import { getDomains } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import type { FieldsProps } from './what-step.tsx'

const MAX_NAMED = 3

export function SenderFields({ draft, errors }: FieldsProps): ReactNode {
  const { campaigns } = useTexts()
  const suggestions = useId()
  const domains = useApi(getDomains, { query: { limit: 100 } })
    .data?.data.filter(({ status }) => status === 'verified')
    .map(({ domain }) => domain)
  const { fields } = draft
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field
        label={campaigns.from}
        hint={campaigns.fromHint((domains ?? []).slice(0, MAX_NAMED).join(', '))}
        error={errors.of('from')}
        isRequired
      >
        <TextInput
          type="email"
          list={suggestions}
          autoComplete="off"
          value={fields.from ?? ''}
          onChange={(from) => draft.change({ from })}
        />
      </Field>
      <datalist id={suggestions}>
        {(domains ?? []).map((domain) => (
          <option key={domain} value={`news@${domain}`} />
        ))}
      </datalist>
      <Field label={campaigns.fromName} error={errors.of('from_name')}>
        <TextInput value={fields.from_name ?? ''} onChange={(fromName) => draft.change({ from_name: fromName })} />
      </Field>
      <Field label={campaigns.replyTo} error={errors.of('reply_to')} className="sm:col-span-2">
        <TextInput
          type="email"
          autoComplete="off"
          value={fields.reply_to ?? ''}
          onChange={(replyTo) => draft.change({ reply_to: replyTo })}
        />
      </Field>
    </div>
  )
}
