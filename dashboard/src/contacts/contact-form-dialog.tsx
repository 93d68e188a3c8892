/** Adds a contact, or edits one. What was typed stays after an error. */
import { Plus, X } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { addContact, updateContact, type Contact } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useAudienceChoices } from '#dashboard/src/contact-list/audience-options.ts'
import { formErrors, useFocusOnError, type FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { changesOf, EMPTY_FORM, formOf, TEXT_FIELDS, type ContactForm, type TextField } from './contact-form.ts'

const SHOWS = ['/public/contacts', '/public/segments', '/public/audiences']
const PATHS = ['email', 'audience_id', 'tags', 'custom_attributes', ...TEXT_FIELDS]

export function AddContactDialog(props: {
  readonly audienceId: string | null
  readonly onClose: () => void
}): ReactNode {
  const { contacts } = useTexts()
  const toast = useToast()
  const choices = useAudienceChoices()
  const [form, setForm] = useState(EMPTY_FORM)
  const [chosen, setChosen] = useState(props.audienceId)
  const audience = chosen ?? choices[0]?.value ?? null
  const [error, setError] = useState<ApiError | null>(null)
  useFocusOnError(error)
  const action = useAction(addContact, {
    invalidates: SHOWS,
    onSuccess: () => {
      toast({ title: contacts.addedToast, tone: 'success' })
      props.onClose()
    },
    onError: setError,
  })
  const errors = formErrors(error, PATHS)
  const save = (): void => {
    const { email: _, ...fields } = changesOf(form, EMPTY_FORM)
    action.mutate({ body: { ...fields, email: form.email.trim(), audience_id: audience } })
  }
  return (
    <FormDialog title={contacts.add} errors={errors} isSaving={action.isPending} onSave={save} onClose={props.onClose}>
      <Field label={contacts.audience} isRequired error={errors.of('audience_id')}>
        <Select value={audience} onChange={setChosen} options={choices} placeholder={contacts.chooseAudience} />
      </Field>
      <ContactFields form={form} onChange={setForm} errors={errors} />
    </FormDialog>
  )
}

export function EditContactDialog({
  contact,
  onClose,
}: {
  readonly contact: Contact
  readonly onClose: () => void
}): ReactNode {
  const { contacts } = useTexts()
  const toast = useToast()
  const [stored] = useState(() => formOf(contact))
  const [form, setForm] = useState(stored)
  const [error, setError] = useState<ApiError | null>(null)
  useFocusOnError(error)
  const action = useAction(updateContact, {
    invalidates: SHOWS,
    onSuccess: () => {
      toast({ title: contacts.saved, tone: 'success' })
      onClose()
    },
    onError: setError,
  })
  const errors = formErrors(error, PATHS)
  const save = (): void => {
    const body = changesOf(form, stored)
    if (Object.keys(body).length === 0) onClose()
    else action.mutate({ query: { id: contact.id }, body })
  }
  return (
    <FormDialog title={contacts.editTitle} errors={errors} isSaving={action.isPending} onSave={save} onClose={onClose}>
      <ContactFields form={form} onChange={setForm} errors={errors} />
    </FormDialog>
  )
}

interface FormDialogProps {
  readonly title: string
  readonly errors: FormErrors
  readonly isSaving: boolean
  readonly onSave: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

function FormDialog({ title, errors, isSaving, onSave, onClose, children }: FormDialogProps): ReactNode {
  const { contacts } = useTexts()
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      size="lg"
      title={title}
      onSubmit={onSave}
      footer={
        <Button type="submit" variant="primary" isLoading={isSaving}>
          {contacts.save}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        {children}
      </div>
    </Dialog>
  )
}

interface ContactFieldsProps {
  readonly form: ContactForm
  readonly onChange: (form: ContactForm) => void
  readonly errors: FormErrors
}

function ContactFields({ form, onChange, errors }: ContactFieldsProps): ReactNode {
  const { contacts } = useTexts()
  const labels: Readonly<Record<TextField, string>> = {
    first_name: contacts.firstName,
    last_name: contacts.lastName,
    company_name: contacts.companyName,
    job_title: contacts.jobTitle,
    phone_number: contacts.phoneNumber,
    linkedin: contacts.linkedin,
    timezone: contacts.timezone,
  }
  return (
    <>
      <Field label={contacts.email} isRequired error={errors.of('email')}>
        <TextInput
          type="email"
          value={form.email}
          onChange={(email) => onChange({ ...form, email })}
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        {TEXT_FIELDS.map((name) => (
          <Field
            key={name}
            label={labels[name]}
            hint={name === 'timezone' ? contacts.timezoneHint : undefined}
            error={errors.of(name)}
          >
            <TextInput
              value={form.texts[name]}
              onChange={(text) => onChange({ ...form, texts: { ...form.texts, [name]: text } })}
              autoComplete="off"
            />
          </Field>
        ))}
      </div>
      <Field label={contacts.tags} error={errors.of('tags')}>
        <TagInput
          value={form.tags}
          onChange={(tags) => onChange({ ...form, tags })}
          placeholder={contacts.tagPlaceholder}
        />
      </Field>
      <AttributeFields form={form} onChange={onChange} errors={errors} />
    </>
  )
}

function AttributeFields({ form, onChange, errors }: ContactFieldsProps): ReactNode {
  const { contacts } = useTexts()
  const change = (key: number, part: { name?: string; value?: string }): void =>
    onChange({ ...form, attributes: form.attributes.map((row) => (row.key === key ? { ...row, ...part } : row)) })
  const error = errors.of('custom_attributes')
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium text-ink">{contacts.attributes}</legend>
      <p className="text-sm text-muted">{contacts.attributesHint}</p>
      {form.attributes.map(({ key, name, value }) => (
        <div key={key} className="flex items-center gap-2">
          <TextInput
            aria-label={contacts.attributeName}
            placeholder={contacts.attributeName}
            value={name}
            onChange={(text) => change(key, { name: text })}
          />
          <TextInput
            aria-label={`${contacts.attributeValue} ${name}`}
            placeholder={contacts.attributeValue}
            value={value}
            onChange={(text) => change(key, { value: text })}
          />
          <IconButton
            icon={X}
            label={`${contacts.removeAttribute} ${name}`}
            onClick={() => onChange({ ...form, attributes: form.attributes.filter((row) => row.key !== key) })}
          />
        </div>
      ))}
      {error !== undefined && <p className="text-sm text-danger-text">{error}</p>}
      <Button
        size="sm"
        icon={Plus}
        className="self-start"
        onClick={() => {
          const key = Math.max(-1, ...form.attributes.map((row) => row.key)) + 1
          onChange({ ...form, attributes: [...form.attributes, { key, name: '', value: '' }] })
        }}
      >
        {contacts.addAttribute}
      </Button>
    </fieldset>
  )
}
