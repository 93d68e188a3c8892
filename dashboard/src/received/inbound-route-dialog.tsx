import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createInboundRoute, updateInboundRoute, type InboundRoute } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { Switch } from '#dashboard/src/ui/switch.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { UnconfirmedTargets } from './unconfirmed-targets.tsx'

interface InboundRouteDialogProps {
  /** null: a new one. */
  readonly route: InboundRoute | null
  readonly onClose: () => void
}

interface RouteForm {
  readonly address: string
  readonly action: InboundRoute['action']
  readonly priority: number | null
  readonly description: string
  readonly targets: readonly string[]
  readonly forwardsSpam: boolean
  readonly isActive: boolean
}

const ACTIONS = ['webhook', 'store', 'forward', 'drop'] as const
const FIELDS = ['address', 'action', 'priority', 'description', 'forward_to']

function formOf(route: InboundRoute | null): RouteForm {
  return {
    address: route?.address ?? '',
    action: route?.action ?? 'webhook',
    priority: route?.priority ?? 0,
    description: route?.description ?? '',
    targets: route?.forward_to ?? [],
    forwardsSpam: route?.forwards_spam ?? false,
    isActive: route?.is_active ?? true,
  }
}

/** Mail of these actions may go on to other addresses. */
function forwards({ action }: RouteForm): boolean {
  return action === 'forward' || action === 'webhook'
}

/** What the server stores of the form, for a new route and for an old one. */
function bodyOf(form: RouteForm) {
  return {
    action: form.action,
    priority: form.priority ?? 0,
    description: form.description.trim() === '' ? null : form.description.trim(),
    forward_to: forwards(form) ? form.targets : [],
    forwards_spam: forwards(form) && form.forwardsSpam,
  }
}

export function InboundRouteDialog({ route, onClose }: InboundRouteDialogProps): ReactNode {
  const { received, shell } = useTexts()
  const toast = useToast()
  const [form, setForm] = useState(() => formOf(route))
  const [error, setError] = useState<ApiError | null>(null)
  const options = {
    invalidates: ['/public/inbound/routes'],
    onSuccess: () => {
      toast({ title: received.routeSaved })
      onClose()
    },
    onError: setError,
  }
  const create = useAction(createInboundRoute, options)
  const update = useAction(updateInboundRoute, options)
  useFocusOnError(error)
  const submit = (): void => {
    if (route === null) create.mutate({ body: { ...bodyOf(form), address: form.address.trim() } })
    else update.mutate({ params: { id: route.id }, body: { ...bodyOf(form), is_active: form.isActive } })
  }
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      size="lg"
      title={route === null ? received.newRoute : route.address}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{shell.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={create.isPending || update.isPending}>
            {route === null ? received.createRoute : received.save}
          </Button>
        </>
      }
    >
      <RouteFields form={form} onChange={(change) => setForm({ ...form, ...change })} route={route} error={error} />
    </Dialog>
  )
}

interface RouteFieldsProps {
  readonly form: RouteForm
  readonly onChange: (change: Partial<RouteForm>) => void
  readonly route: InboundRoute | null
  readonly error: ApiError | null
}

function RouteFields({ form, onChange, route, error }: RouteFieldsProps): ReactNode {
  const { received } = useTexts()
  const isNew = route === null
  const errors = formErrors(error, FIELDS)
  return (
    <div className="flex flex-col gap-4">
      {isNew && (
        <Field label={received.address} hint={received.addressHint} error={errors.of('address')} isRequired>
          <TextInput
            value={form.address}
            onChange={(address) => onChange({ address })}
            placeholder="support@reply.example.com"
            spellCheck={false}
            autoCapitalize="none"
          />
        </Field>
      )}
      <Field label={received.action} error={errors.of('action')}>
        <RadioCards
          value={form.action}
          onChange={(action) => onChange({ action })}
          options={ACTIONS.map((value) => ({
            value,
            label: received.actionNames[value],
            description: received.actionTexts[value],
          }))}
        />
      </Field>
      {forwards(form) && (
        <>
          <Field
            label={received.forwardTo}
            hint={received.forwardToHint}
            error={errors.of('forward_to')}
            isOptional={form.action === 'webhook'}
          >
            <TagInput
              value={form.targets}
              onChange={(targets) => onChange({ targets })}
              placeholder="team@example.com"
            />
          </Field>
          {route !== null && <UnconfirmedTargets route={route} />}
          {form.targets.length > 0 && (
            <Checkbox
              label={received.forwardsSpam}
              isChecked={form.forwardsSpam}
              onChange={(forwardsSpam) => onChange({ forwardsSpam })}
            />
          )}
        </>
      )}
      <Field label={received.priority} hint={received.priorityHint} error={errors.of('priority')}>
        <NumberInput value={form.priority} onChange={(priority) => onChange({ priority })} />
      </Field>
      <Field label={received.note} error={errors.of('description')} isOptional>
        <TextInput value={form.description} onChange={(description) => onChange({ description })} />
      </Field>
      {!isNew && (
        <Switch
          label={received.acceptsMail}
          hint={received.acceptsMailHint}
          isOn={form.isActive}
          onChange={(isActive) => onChange({ isActive })}
        />
      )}
      {errors.rest !== null && (
        <p role="alert" className="text-danger-text">
          {errors.rest}
        </p>
      )}
    </div>
  )
}
