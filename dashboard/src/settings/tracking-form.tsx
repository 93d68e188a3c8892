import { useState, type FormEvent, type ReactNode } from 'react'
import { changeTracking, getTracking, type TrackingSettings } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { formErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { Switch } from '#dashboard/src/ui/switch.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

const PRIVACY = ['full', 'truncated', 'none'] as const

/** Open and click tracking of the workspace. Switches act at once; the host name is saved with its button. */
export function TrackingForm(): ReactNode {
  const { people } = useTexts()
  const settings = useApi(getTracking, {})
  if (settings.error !== null) return <FailedQuery query={settings} title={people.settings.failed} />
  if (settings.data === undefined) return <SkeletonLines lines={5} />
  return <TrackingFields settings={settings.data.data} />
}

function TrackingFields({ settings }: { readonly settings: TrackingSettings }): ReactNode {
  const { people } = useTexts()
  const texts = people.settings
  const toast = useToast()
  const mayChange = useCan()('tracking:write')
  const [host, setHost] = useState(settings.tracking_domain ?? '')
  const change = useAction(changeTracking, {
    invalidates: ['/public/workspace/tracking'],
    onSuccess: () => toast({ title: texts.saved }),
    onError: () => undefined,
  })
  const errors = formErrors(change.error, ['tracking_domain'])
  const save = (body: NonNullable<Parameters<typeof change.mutate>[0]['body']>): void => change.mutate({ body })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save({ tracking_domain: host.trim() === '' ? null : host.trim() })
  }
  return (
    <div className="flex flex-col gap-6">
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <Switch
        label={texts.trackOpens}
        hint={texts.trackOpensHint}
        isOn={settings.track_opens === true}
        isDisabled={!mayChange}
        onChange={(isOn) => save({ track_opens: isOn })}
      />
      <Switch
        label={texts.trackClicks}
        hint={texts.trackClicksHint}
        isOn={settings.track_clicks === true}
        isDisabled={!mayChange}
        onChange={(isOn) => save({ track_clicks: isOn })}
      />
      <Field label={texts.privacy}>
        <RadioCards
          label={texts.privacy}
          columns={3}
          value={settings.privacy}
          onChange={(privacy) => save({ privacy })}
          options={PRIVACY.map((value) => ({
            value,
            label: texts.privacyOptions[value][0] ?? value,
            description: texts.privacyOptions[value][1],
            isDisabled: !mayChange,
          }))}
        />
      </Field>
      <form onSubmit={submit}>
        <Field label={texts.trackingDomain} hint={texts.trackingDomainHint} error={errors.of('tracking_domain')}>
          <div className="flex gap-3">
            <div className="min-w-0 flex-1">
              <TextInput
                value={host}
                onChange={setHost}
                placeholder={new URL(settings.tracking_url).host}
                readOnly={!mayChange}
              />
            </div>
            {mayChange && (
              <Button type="submit" isLoading={change.isPending}>
                {texts.save}
              </Button>
            )}
          </div>
        </Field>
      </form>
    </div>
  )
}
