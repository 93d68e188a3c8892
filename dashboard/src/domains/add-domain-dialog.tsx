/** Adds a domain and opens its page, which lists the records to publish. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { addDomain, type AddDomainBody } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

type Region = NonNullable<AddDomainBody['region']>
type RecordKind = 'default' | 'txt'

const REGIONS: readonly Region[] = ['us-east-1', 'ap-southeast-1', 'af-south-1']

interface AddDomainDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function AddDomainDialog({ isOpen, onClose }: AddDomainDialogProps): ReactNode {
  const { domains, ui } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [domain, setDomain] = useState('')
  const [region, setRegion] = useState<Region>('us-east-1')
  const [kind, setKind] = useState<RecordKind>('default')
  const [error, setError] = useState<ApiError | null>(null)
  const add = useAction(addDomain, {
    invalidates: ['/public/domains', '/public/checklist', '/public/attention'],
    onSuccess: ({ data }) => {
      setDomain('')
      void navigate({ to: path(`/domains/${data.id}`) })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['domain', 'region', 'dkim_records'])
  const submit = (): void => {
    setError(null)
    add.mutate({ body: { domain: domain.trim(), region, ...(kind === 'txt' ? { dkim_records: kind } : {}) } })
  }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={domains.add}
      description={domains.addText}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={add.isPending}>
            {domains.add}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={domains.domainName} hint={domains.domainHint} error={errors.of('domain')} isRequired>
          <TextInput
            value={domain}
            onChange={setDomain}
            placeholder="example.com"
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            autoFocus
          />
        </Field>
        <Field label={domains.region} hint={domains.regionHint} error={errors.of('region')}>
          <Select
            value={region}
            onChange={setRegion}
            options={REGIONS.map((value) => ({ value, label: domains.regions[value], description: value }))}
          />
        </Field>
        <Field label={domains.dkimRecords} error={errors.of('dkim_records')}>
          <RadioCards
            value={kind}
            onChange={setKind}
            columns={2}
            options={[
              { value: 'default', label: domains.kinds.default, description: domains.kinds.defaultText },
              { value: 'txt', label: domains.kinds.txt, description: domains.kinds.txtText },
            ]}
          />
        </Field>
      </div>
    </Dialog>
  )
}
