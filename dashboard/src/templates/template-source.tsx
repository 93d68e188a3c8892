/** What one writes: name and subject, then the body (code or blocks), the text part, sample data and details. */
import { useMemo, useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TabPanel, Tabs } from '#dashboard/src/ui/tabs.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { BlockEditor } from './block-editor.tsx'
import type { CodeProblem } from './code-editor.tsx'
import { bodyOf, readSampleData, type TemplateDraft } from './draft.ts'
import { LazyCodeEditor } from './lazy-code-editor.tsx'
import { SampleData } from './sample-data.tsx'
import { SwitchToCode } from './switch-to-code.tsx'

export interface TemplateSourceProps {
  readonly draft: TemplateDraft
  readonly onChange: (draft: TemplateDraft) => void
  readonly errors: FormErrors
  readonly problems: readonly CodeProblem[]
  readonly contactId: string | null
  readonly onContactChange: (id: string | null) => void
  readonly isReadOnly: boolean
}

type Part = 'body' | 'text' | 'sample' | 'details'
const EDITOR_HEIGHT = 'h-[60dvh] min-h-96'

export function TemplateSource(props: TemplateSourceProps): ReactNode {
  const { draft, onChange, errors, isReadOnly } = props
  const { templates } = useTexts()
  const [part, setPart] = useState<Part>('body')
  const tabs = [
    { value: 'body' as const, label: draft.document === null ? templates.formats[draft.format] : templates.design },
    ...(draft.format === 'text' ? [] : [{ value: 'text' as const, label: templates.textPart }]),
    { value: 'sample' as const, label: templates.sampleData },
    { value: 'details' as const, label: templates.details },
  ]
  return (
    <section aria-label={templates.source} className="flex min-w-0 flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={templates.name} error={errors.of('name')} isRequired>
          <TextInput
            value={draft.name}
            readOnly={isReadOnly}
            autoComplete="off"
            onChange={(name) => onChange({ ...draft, name })}
          />
        </Field>
        <Field label={templates.subject} error={errors.of('subject')} isRequired>
          <TextInput
            value={draft.subject}
            readOnly={isReadOnly}
            autoComplete="off"
            onChange={(subject) => onChange({ ...draft, subject })}
          />
        </Field>
      </div>
      <Tabs label={templates.source} value={part} onChange={setPart} tabs={tabs}>
        <TabPanel value="body">
          <BodyPart {...props} />
        </TabPanel>
        <TabPanel value="text">
          <TextPart {...props} />
        </TabPanel>
        <TabPanel value="sample">
          <SampleData {...props} />
        </TabPanel>
        <TabPanel value="details">
          <Details {...props} />
        </TabPanel>
      </Tabs>
    </section>
  )
}

function BodyPart({ draft, onChange, problems, isReadOnly }: TemplateSourceProps): ReactNode {
  const { templates } = useTexts()
  const sample = readSampleData(draft.sampleData)
  const names = useMemo(() => (sample.isValid ? Object.keys(sample.data ?? {}) : []), [sample])
  if (draft.document !== null)
    return (
      <div className="flex flex-col gap-4">
        <BlockEditor
          document={draft.document}
          onChange={(document) => onChange({ ...draft, document })}
          isReadOnly={isReadOnly}
        />
        {!isReadOnly && <SwitchToCode onSwitch={() => onChange({ ...draft, body: bodyOf(draft), document: null })} />}
      </div>
    )
  return (
    <div className="flex flex-col gap-2">
      <LazyCodeEditor
        heightClass={EDITOR_HEIGHT}
        label={templates.formats[draft.format]}
        language={draft.format === 'text' ? 'text' : 'html'}
        value={draft.body}
        onChange={(body) => onChange({ ...draft, body })}
        problems={problems}
        variables={names}
        isReadOnly={isReadOnly}
      />
      <p className="text-sm text-muted">{templates.variablesHint}</p>
    </div>
  )
}

function TextPart({ draft, onChange, isReadOnly }: TemplateSourceProps): ReactNode {
  const { templates } = useTexts()
  return (
    <div className="flex flex-col gap-2">
      <LazyCodeEditor
        heightClass={EDITOR_HEIGHT}
        label={templates.textPart}
        language="text"
        value={draft.text}
        onChange={(text) => onChange({ ...draft, text })}
        isReadOnly={isReadOnly}
      />
      <p className="text-sm text-muted">{templates.textPartHint}</p>
    </div>
  )
}

function Details({ draft, onChange, errors, isReadOnly }: TemplateSourceProps): ReactNode {
  const { templates } = useTexts()
  return (
    <div className="flex flex-col gap-4">
      <Field label={templates.category} hint={templates.categoryHint} error={errors.of('category')} isOptional>
        <TextInput
          value={draft.category}
          readOnly={isReadOnly}
          onChange={(category) => onChange({ ...draft, category })}
        />
      </Field>
      <Field
        label={templates.descriptionLabel}
        hint={templates.descriptionHint}
        error={errors.of('description')}
        isOptional
      >
        <TextArea
          value={draft.description}
          readOnly={isReadOnly}
          onChange={(description) => onChange({ ...draft, description })}
        />
      </Field>
    </div>
  )
}
