/** Leaves contacts out: makes a segment of the chosen one without them, and chooses that. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createSegment, getAudiences, previewSegment, type Segment } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { formatNumber } from '#dashboard/src/ui/format.ts'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { exclusionFilter, type Exclusions } from './exclusion-filter.ts'
import type { Draft } from './use-draft.ts'

const NOBODY: Exclusions = { tags: [], audienceId: null, mailedWithinDays: null }
const NONE = 'none'

interface ExcludeDialogProps {
  readonly draft: Draft
  readonly base: Segment | null
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function ExcludeDialog({ draft, base, isOpen, onClose }: ExcludeDialogProps): ReactNode {
  const { campaigns, ui } = useTexts()
  const [exclusions, setExclusions] = useState(NOBODY)
  const [error, setError] = useState<ApiError | null>(null)
  const filter = exclusionFilter(base?.filter ?? null, exclusions)
  const create = useAction(createSegment, {
    invalidates: ['/public/segments'],
    onSuccess: (answer) => {
      draft.change({ segment_id: answer.data.id })
      setExclusions(NOBODY)
      onClose()
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, [])
  const submit = (): void => {
    setError(null)
    if (filter !== null) create.mutate({ body: { name: campaigns.excludeName(draft.fields.name), filter } })
  }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={campaigns.exclude}
      description={campaigns.excludeText}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" disabled={filter === null} isLoading={create.isPending}>
            {campaigns.excludeSave}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Rules exclusions={exclusions} onChange={setExclusions} />
        <RemainingCount filter={filter} />
      </div>
    </Dialog>
  )
}

interface RulesProps {
  readonly exclusions: Exclusions
  readonly onChange: (exclusions: Exclusions) => void
}

function Rules({ exclusions, onChange }: RulesProps): ReactNode {
  const { campaigns } = useTexts()
  const audiences = useApi(getAudiences, { query: { limit: 100, sortBy: 'name', sortDir: 'asc' } }).data?.data.audiences
  return (
    <>
      <Field label={campaigns.excludeTags}>
        <TagInput value={exclusions.tags} onChange={(tags) => onChange({ ...exclusions, tags })} />
      </Field>
      <Field label={campaigns.excludeAudience}>
        <Select
          value={exclusions.audienceId ?? NONE}
          onChange={(value) => onChange({ ...exclusions, audienceId: value === NONE ? null : value })}
          options={[
            { value: NONE, label: campaigns.excludeNone },
            ...(audiences ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      </Field>
      <Field label={campaigns.excludeDays} hint={campaigns.excludeDaysHint}>
        <NumberInput
          min={1}
          max={365}
          value={exclusions.mailedWithinDays}
          onChange={(mailedWithinDays) => onChange({ ...exclusions, mailedWithinDays })}
        />
      </Field>
    </>
  )
}

function RemainingCount({ filter }: { readonly filter: Readonly<Record<string, unknown>> | null }): ReactNode {
  const { campaigns, ui } = useTexts()
  const wanted = useDebounced(filter === null ? '' : JSON.stringify(filter), 400)
  const query = useApi(
    previewSegment,
    { body: { filter: (wanted === '' ? {} : JSON.parse(wanted)) as Readonly<Record<string, unknown>> } },
    { isEnabled: wanted !== '', keepsPrevious: true },
  )
  return (
    <p aria-live="polite" className="min-h-5 text-sm text-muted">
      {wanted === '' && campaigns.excludeEmpty}
      {wanted !== '' && query.error !== null && query.error.message}
      {wanted !== '' &&
        query.data !== undefined &&
        campaigns.excludeLeft(formatNumber(query.data.data.count, ui.locale))}
    </p>
  )
}
