/** Step 2: what it says. A template or own content, the subject, the sender, and a test of two subjects. */
import type { ReactNode } from 'react'
import { formErrors, type FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ContentFields } from './content-fields.tsx'
import { MailPreview } from './mail-preview.tsx'
import { SenderFields } from './sender-fields.tsx'
import type { Draft, DraftFields } from './use-draft.ts'

const FIELDS = ['name', 'template_id', 'subject', 'body', 'text', 'from', 'from_name', 'reply_to', 'test']

export interface FieldsProps {
  readonly draft: Draft
  readonly errors: FormErrors
}

export function WhatStep({ draft }: { readonly draft: Draft }): ReactNode {
  const { campaigns } = useTexts()
  const errors = formErrors(draft.error, FIELDS)
  return (
    <div className="grid items-start gap-6 xl:grid-cols-2">
      <div className="flex flex-col gap-6">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <ContentFields draft={draft} errors={errors} />
        <SenderFields draft={draft} errors={errors} />
        <SubjectTest draft={draft} errors={errors} />
        <Section title={campaigns.tracking}>
          <div className="grid gap-4 sm:grid-cols-2">
            <TrackingChoice draft={draft} name="track_opens" label={campaigns.trackOpens} />
            <TrackingChoice draft={draft} name="track_clicks" label={campaigns.trackClicks} />
          </div>
        </Section>
        <Field label={campaigns.name} hint={campaigns.nameHint} error={errors.of('name')}>
          <TextInput value={draft.fields.name} onChange={(name) => draft.change({ name })} />
        </Field>
      </div>
      <div className="xl:sticky xl:top-20">
        <Section title={campaigns.preview}>
          <MailPreview fields={draft.fields} />
        </Section>
      </div>
    </div>
  )
}

const NEW_TEST: NonNullable<DraftFields['test']> = { subject_b: '', percent: 20, minutes: 60 }

function SubjectTest({ draft, errors }: FieldsProps): ReactNode {
  const { campaigns } = useTexts()
  const { test } = draft.fields
  return (
    <div className="flex flex-col gap-4">
      <Checkbox
        label={campaigns.test}
        hint={campaigns.testHint}
        isChecked={test !== null}
        onChange={(isChecked) => draft.change({ test: isChecked ? NEW_TEST : null })}
      />
      {test !== null && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={campaigns.subjectB} error={errors.of('test.subject_b')} className="sm:col-span-2">
            <TextInput
              value={test.subject_b}
              onChange={(subjectB) => draft.change({ test: { ...test, subject_b: subjectB } })}
            />
          </Field>
          <Field label={campaigns.testPercent} error={errors.of('test.percent')}>
            <NumberInput
              min={1}
              max={100}
              value={test.percent}
              onChange={(percent) => draft.change({ test: { ...test, percent: percent ?? 0 } })}
            />
          </Field>
          <Field label={campaigns.testMinutes} hint={campaigns.testMinutesHint} error={errors.of('test.minutes')}>
            <NumberInput
              min={1}
              value={test.minutes}
              onChange={(minutes) => draft.change({ test: { ...test, minutes: minutes ?? 0 } })}
            />
          </Field>
        </div>
      )}
    </div>
  )
}

const TRACKING = { default: null, on: true, off: false } as const
type TrackingName = keyof typeof TRACKING

interface TrackingChoiceProps {
  readonly draft: Draft
  readonly name: 'track_opens' | 'track_clicks'
  readonly label: string
}

function TrackingChoice({ draft, name, label }: TrackingChoiceProps): ReactNode {
  const { campaigns } = useTexts()
  const names: readonly TrackingName[] = ['default', 'on', 'off']
  const value = names.find((one) => TRACKING[one] === draft.fields[name]) ?? 'default'
  return (
    <Field label={label}>
      <Select
        value={value}
        onChange={(chosen) => draft.change({ [name]: TRACKING[chosen] })}
        options={names.map((one) => ({ value: one, label: campaigns.track[one] }))}
      />
    </Field>
  )
}
