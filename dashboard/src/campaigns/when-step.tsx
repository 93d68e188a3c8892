/** Step 3: when it goes out. The time is in the address until the campaign is scheduled. */
import type { ReactNode } from 'react'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { formErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Combobox, type ComboboxOption } from '#dashboard/src/ui/combobox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { problemOf, readPlan, writePlan, type SendPlan } from './send-plan.ts'
import type { Draft } from './use-draft.ts'

const MAX_ZONES = 50

export function WhenStep({ draft }: { readonly draft: Draft }): ReactNode {
  const { campaigns } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const plan = readPlan(search)
  const change = (changed: Partial<SendPlan>): void => changeSearch(writePlan(changed))
  const errors = formErrors(draft.error, ['spread_minutes'])
  return (
    <div className="flex max-w-2xl flex-col gap-6">
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <Section title={campaigns.when}>
        <RadioCards
          label={campaigns.when}
          value={plan.isLater ? 'later' : 'now'}
          onChange={(value) => change({ isLater: value === 'later' })}
          options={[
            { value: 'now', label: campaigns.now, description: campaigns.nowText },
            { value: 'later', label: campaigns.later, description: campaigns.laterText },
          ]}
        />
      </Section>
      {plan.isLater && <TimeFields draft={draft} plan={plan} onChange={change} />}
      <Field label={campaigns.spread} hint={campaigns.spreadHint} error={errors.of('spread_minutes')}>
        <NumberInput
          min={1}
          disabled={plan.isLater && plan.isEachZone}
          value={draft.fields.spread_minutes}
          onChange={(minutes) => draft.change({ spread_minutes: minutes })}
        />
      </Field>
    </div>
  )
}

interface TimeFieldsProps {
  readonly draft: Draft
  readonly plan: SendPlan
  readonly onChange: (plan: Partial<SendPlan>) => void
}

function TimeFields({ draft, plan, onChange }: TimeFieldsProps): ReactNode {
  const { campaigns } = useTexts()
  const problem = problemOf(plan, Date.now())
  const canBeEach = draft.fields.test === null && draft.fields.spread_minutes === null
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={campaigns.dateTime}
          error={problem === 'past-time' ? campaigns.pastTime : undefined}
          hint={problem === 'no-time' ? campaigns.noTime : undefined}
        >
          <TextInput
            type="datetime-local"
            className="tabular-nums"
            value={plan.at}
            onChange={(at) => onChange({ at: at.slice(0, 16) })}
          />
        </Field>
        <Field label={campaigns.zone}>
          <Combobox
            value={toOption(plan.zone)}
            onChange={({ value }) => onChange({ zone: value })}
            search={searchZones}
            placeholder={campaigns.zoneSearch}
          />
        </Field>
      </div>
      <Checkbox
        label={campaigns.eachZone}
        hint={canBeEach ? campaigns.eachZoneHint : campaigns.eachZoneNot}
        isChecked={plan.isEachZone}
        isDisabled={!canBeEach && !plan.isEachZone}
        onChange={(isEachZone) => onChange({ isEachZone })}
      />
    </div>
  )
}

function toOption(zone: string): ComboboxOption {
  return { value: zone, label: zone.replaceAll('_', ' ') }
}

function searchZones(text: string): Promise<readonly ComboboxOption[]> {
  const wanted = text.toLowerCase().replaceAll(' ', '_')
  const found = ['UTC', ...Intl.supportedValuesOf('timeZone')].filter((zone) => zone.toLowerCase().includes(wanted))
  return Promise.resolve(found.slice(0, MAX_ZONES).map(toOption))
}
