/** The content of a draft: a template, or its own subject and body. The API has either, never both. */
import { useState, type ReactNode } from 'react'
import { listTemplates } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import type { FieldsProps } from './what-step.tsx'

const MAX_LISTED = 100
type Source = 'template' | 'own'

export function ContentFields({ draft, errors }: FieldsProps): ReactNode {
  const { campaigns } = useTexts()
  const { fields } = draft
  const [chosen, setChosen] = useState<Source | null>(null)
  const source = chosen ?? (fields.template_id === null && (fields.body ?? fields.text) !== null ? 'own' : 'template')
  return (
    <Section title={campaigns.content}>
      <div className="flex flex-col gap-4">
        <RadioCards
          label={campaigns.content}
          value={source}
          onChange={(next) => {
            setChosen(next)
            if (next === 'own' && fields.template_id !== null) draft.change({ template_id: null })
          }}
          options={[
            { value: 'template', label: campaigns.useTemplate, description: campaigns.useTemplateText },
            { value: 'own', label: campaigns.ownContent, description: campaigns.ownContentText },
          ]}
        />
        {source === 'template' ? (
          <TemplateFields draft={draft} errors={errors} />
        ) : (
          <OwnFields draft={draft} errors={errors} />
        )}
      </div>
    </Section>
  )
}

function TemplateFields({ draft, errors }: FieldsProps): ReactNode {
  const { campaigns } = useTexts()
  const query = useApi(listTemplates, { query: { limit: MAX_LISTED } })
  const templates = query.data?.data.templates ?? []
  const chosen = templates.find(({ id }) => id === draft.fields.template_id)
  return (
    <>
      <Field
        label={campaigns.template}
        error={errors.of('template_id')}
        hint={query.isSuccess && templates.length === 0 ? campaigns.noTemplates : undefined}
        isRequired
      >
        <Select
          value={draft.fields.template_id}
          onChange={(id) => draft.change({ template_id: id, body: null, text: null })}
          placeholder={campaigns.chooseTemplate}
          isDisabled={templates.length === 0}
          options={templates.map(({ id, name, subject }) => ({ value: id, label: name, description: subject }))}
        />
      </Field>
      <Field
        label={campaigns.subject}
        error={errors.of('subject')}
        hint={chosen === undefined ? campaigns.subjectHint : campaigns.subjectOfTemplate(chosen.subject)}
      >
        <TextInput value={draft.fields.subject ?? ''} onChange={(subject) => draft.change({ subject })} />
      </Field>
    </>
  )
}

function OwnFields({ draft, errors }: FieldsProps): ReactNode {
  const { campaigns } = useTexts()
  const { fields } = draft
  return (
    <>
      <Field label={campaigns.subject} hint={campaigns.subjectHint} error={errors.of('subject')} isRequired>
        <TextInput value={fields.subject ?? ''} onChange={(subject) => draft.change({ subject, template_id: null })} />
      </Field>
      <Field label={campaigns.body} hint={campaigns.bodyHint} error={errors.of('body')} isRequired>
        <TextArea
          isMono
          rows={12}
          spellCheck={false}
          value={fields.body ?? ''}
          onChange={(body) => draft.change({ body, template_id: null })}
        />
      </Field>
      <Field label={campaigns.plainText} hint={campaigns.plainTextHint} error={errors.of('text')}>
        <TextArea rows={3} value={fields.text ?? ''} onChange={(text) => draft.change({ text })} />
      </Field>
    </>
  )
}
