/** What the preview is filled in with: sample data as JSON, or a contact. */
import { X } from '#dashboard/src/ui/icons.tsx'
import { useCallback, useContext, useMemo, useState, type ReactNode } from 'react'
import { send } from '#dashboard/src/api/endpoint.ts'
import { getContact, getContacts } from '#dashboard/src/api/endpoints.ts'
import { WorkspaceContext } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Combobox, type ComboboxOption } from '#dashboard/src/ui/combobox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { bodyOf, readSampleData } from './draft.ts'
import type { TemplateSourceProps } from './template-source.tsx'
import { unknownVariables } from './template-variables.ts'

const MAX_CONTACTS = 20

export function SampleData({
  draft,
  onChange,
  errors,
  contactId,
  onContactChange,
  isReadOnly,
}: TemplateSourceProps): ReactNode {
  const { templates } = useTexts()
  const can = useCan()
  const sample = useMemo(() => readSampleData(draft.sampleData), [draft.sampleData])
  const unknown = useMemo(
    () =>
      unknownVariables(
        [draft.subject, bodyOf(draft), draft.text].join('\n'),
        sample.isValid ? Object.keys(sample.data ?? {}) : [],
      ),
    [draft, sample],
  )
  return (
    <div className="flex flex-col gap-4">
      {can('contacts:read') && <ContactChoice contactId={contactId} onChange={onContactChange} />}
      <Field
        label={templates.sampleJson}
        hint={templates.sampleHint}
        error={sample.isValid ? errors.of('sample_data') : templates.sampleInvalid(sample.reason)}
        isOptional
      >
        <TextArea
          isMono
          rows={10}
          value={draft.sampleData}
          readOnly={isReadOnly}
          spellCheck={false}
          placeholder={'{\n  "order": { "total": 42 }\n}'}
          onChange={(sampleData) => onChange({ ...draft, sampleData })}
        />
      </Field>
      {unknown.length > 0 && (
        <p className="text-sm break-words text-muted">
          {templates.unknownVariables} <code className="font-mono text-ink">{unknown.join(', ')}</code>
        </p>
      )}
    </div>
  )
}

interface ContactChoiceProps {
  readonly contactId: string | null
  readonly onChange: (id: string | null) => void
}

function ContactChoice({ contactId, onChange }: ContactChoiceProps): ReactNode {
  const { templates } = useTexts()
  const workspaceId = useContext(WorkspaceContext)
  const [chosen, setChosen] = useState<ComboboxOption | null>(null)
  const search = useCallback(
    async (text: string, signal: AbortSignal): Promise<readonly ComboboxOption[]> => {
      const query = text.includes('@') ? { email: text.trim() } : null
      if (query !== null) {
        const found = await send(getContact, { query }, { workspaceId, signal })
        return [{ value: found.data.id, label: found.data.email }]
      }
      const answer = await send(getContacts, { query: { limit: MAX_CONTACTS } }, { workspaceId, signal })
      return answer.data.contacts
        .map(({ id, email }) => ({ value: id, label: email }))
        .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    },
    [workspaceId],
  )
  return (
    <Field label={templates.previewFor} hint={templates.previewForHint} isOptional>
      <div className="flex items-center gap-2">
        <Combobox
          value={contactId === null ? null : chosen}
          placeholder={templates.noContact}
          search={search}
          onChange={(option) => {
            setChosen(option)
            onChange(option.value)
          }}
        />
        {contactId !== null && <IconButton icon={X} label={templates.withoutContact} onClick={() => onChange(null)} />}
      </div>
    </Field>
  )
}
