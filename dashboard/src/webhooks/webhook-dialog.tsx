/** Makes or changes an endpoint: its address, what it is for, and the events it receives. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createWebhook, updateWebhook, type Webhook } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { chosenTypes, EVENT_GROUPS, EVENT_TYPES, toEvents, type EventGroup, type EventType } from './event-types.ts'
import type { ShownSecret } from './webhook-secret-dialog.tsx'

interface WebhookDialogProps {
  /** Null: a new one. */
  readonly webhook: Webhook | null
  readonly onClose: () => void
  readonly onCreated?: (created: ShownSecret) => void
}

export function WebhookDialog({ webhook, onClose, onCreated }: WebhookDialogProps): ReactNode {
  const { webhooks, ui } = useTexts()
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [types, setTypes] = useState<readonly EventType[]>(chosenTypes(webhook?.events ?? []))
  const [error, setError] = useState<ApiError | null>(null)
  const invalidates = ['/public/webhooks']
  const create = useAction(createWebhook, {
    invalidates,
    onSuccess: ({ data }) => onCreated?.(data),
    onError: setError,
  })
  const change = useAction(updateWebhook, { invalidates, onSuccess: onClose, onError: setError })
  useFocusOnError(error)
  const errors = formErrors(error, ['url', 'description', 'events'])
  const submit = (): void => {
    setError(null)
    const body = {
      url: url.trim(),
      description: description.trim() === '' ? null : description,
      events: toEvents(types),
    }
    if (webhook === null) create.mutate({ body })
    else change.mutate({ params: { id: webhook.id }, body })
  }
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={webhook === null ? webhooks.create : webhooks.edit}
      size="lg"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button
            type="submit"
            variant="primary"
            isLoading={create.isPending || change.isPending}
            disabled={types.length === 0}
          >
            {webhook === null ? webhooks.create : webhooks.save}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={webhooks.url} hint={webhooks.urlHint} error={errors.of('url')} isRequired>
          <TextInput
            type="url"
            value={url}
            onChange={setUrl}
            placeholder="https://example.com/hooks/mail"
            spellCheck={false}
            autoComplete="off"
            autoFocus
          />
        </Field>
        <Field label={webhooks.descriptionField} error={errors.of('description')} isOptional>
          <TextInput value={description} onChange={setDescription} />
        </Field>
        <EventFields types={types} onChange={setTypes} error={errors.of('events')} />
      </div>
    </Dialog>
  )
}

interface EventFieldsProps {
  readonly types: readonly EventType[]
  readonly onChange: (types: readonly EventType[]) => void
  readonly error: string | undefined
}

function EventFields({ types, onChange, error }: EventFieldsProps): ReactNode {
  const { webhooks } = useTexts()
  const toggle = (changed: readonly EventType[], isOn: boolean): void =>
    onChange(EVENT_TYPES.filter((type) => (changed.includes(type) ? isOn : types.includes(type))))
  const message = types.length === 0 ? webhooks.chooseOne : error
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-2 text-sm font-medium">{webhooks.events}</legend>
      <Checkbox
        isChecked={types.length === EVENT_TYPES.length}
        isMixed={types.length > 0 && types.length < EVENT_TYPES.length}
        onChange={(isOn) => toggle(EVENT_TYPES, isOn)}
        label={webhooks.allEvents}
        hint={webhooks.allEventsHint}
      />
      {message !== undefined && (
        <p role="alert" className="text-sm text-danger-text">
          {message}
        </p>
      )}
      {(Object.keys(EVENT_GROUPS) as EventGroup[]).map((group) => (
        <div key={group} className="flex flex-col gap-2">
          <h3 className="text-sm font-medium text-muted">{webhooks.groups[group]}</h3>
          <div className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
            {EVENT_GROUPS[group].map((type) => (
              <Checkbox
                key={type}
                isChecked={types.includes(type)}
                onChange={(isOn) => toggle([type], isOn)}
                label={<code className="font-mono text-sm">{type}</code>}
                hint={webhooks.eventTexts[type]}
              />
            ))}
          </div>
        </div>
      ))}
    </fieldset>
  )
}
