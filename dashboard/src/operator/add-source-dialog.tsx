import { useState, type ReactNode } from 'react'
import { adminAddSource, type AdminAddSourceBody } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'

type Region = NonNullable<AdminAddSourceBody['region']>
const REGIONS: readonly Region[] = ['us-east-1', 'ap-southeast-1', 'af-south-1']

export function AddSourceDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [name, setName] = useState('')
  const [address, setAddress] = useState('')
  const [ehloName, setEhloName] = useState('')
  const [region, setRegion] = useState<Region>('us-east-1')
  const [pool, setPool] = useState('')
  const [weight, setWeight] = useState<number | null>(null)
  const [warmsUp, setWarmsUp] = useState(true)
  const add = useOperatorAction(adminAddSource, ['/admin/sources', '/admin/pools', '/admin/deliverability'])
  const body = {
    name,
    address,
    ehlo_name: ehloName,
    region,
    warm_up: warmsUp,
    ...(pool === '' ? {} : { pool }),
    ...(weight === null ? {} : { weight }),
  }
  return (
    <ActionDialog
      title={texts.add}
      text={texts.addText}
      label={texts.add}
      isReady={name !== '' && address !== '' && ehloName !== ''}
      fields={['name', 'address', 'ehlo_name', 'region', 'pool', 'weight', 'warm_up']}
      run={() => add({ body })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={texts.name} error={errors.of('name')} isRequired>
            <TextInput value={name} onChange={setName} placeholder="ip-1" />
          </Field>
          <Field label={texts.address} error={errors.of('address')} isRequired>
            <TextInput value={address} onChange={setAddress} isMono placeholder="192.0.2.10" />
          </Field>
          <Field label={texts.ehlo} hint={texts.ehloHint} error={errors.of('ehlo_name')} isRequired>
            <TextInput value={ehloName} onChange={setEhloName} isMono placeholder="out-1.example.com" />
          </Field>
          <Field label={texts.region} error={errors.of('region')}>
            <Select value={region} onChange={setRegion} options={REGIONS.map((value) => ({ value, label: value }))} />
          </Field>
          <Field label={texts.pool} hint={texts.poolHint} error={errors.of('pool')} isOptional>
            <TextInput value={pool} onChange={setPool} />
          </Field>
          <Field label={texts.weight} hint={texts.weightHint} error={errors.of('weight')} isOptional>
            <NumberInput value={weight} onChange={setWeight} min={1} />
          </Field>
          <Checkbox isChecked={warmsUp} onChange={setWarmsUp} label={texts.warmUpOn} />
        </>
      )}
    </ActionDialog>
  )
}
