import type { ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { previewSegment } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAudienceChoices } from '#dashboard/src/contact-list/audience-options.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { Spinner } from '#dashboard/src/ui/spinner.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { isComplete, replaceNode, toFilter, type GroupNode } from './segment-document.ts'
import { SegmentGroup } from './segment-group.tsx'

export interface SegmentDraft {
  readonly name: string
  readonly audienceId: string | null
  readonly root: GroupNode
}

interface SegmentFormProps {
  readonly draft: SegmentDraft
  readonly onChange: (draft: SegmentDraft) => void
  readonly error: ApiError | null
  readonly isSaving: boolean
  readonly isReadOnly: boolean
  readonly onSave: () => void
}

const ALL = 'all'

export function SegmentForm({ draft, onChange, error, isSaving, isReadOnly, onSave }: SegmentFormProps): ReactNode {
  const { segments } = useTexts()
  const audiences = useAudienceChoices()
  const errors = formErrors(error, ['name', 'audience_id'])
  useFocusOnError(error)
  const { name, audienceId, root } = draft
  return (
    <form
      noValidate
      className="flex flex-col gap-5"
      onSubmit={(event) => {
        event.preventDefault()
        onSave()
      }}
    >
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={segments.name} isRequired error={errors.of('name')}>
          <TextInput value={name} onChange={(next) => onChange({ ...draft, name: next })} />
        </Field>
        <Field label={segments.audience} error={errors.of('audience_id')}>
          <Select
            value={audienceId ?? ALL}
            options={[{ value: ALL, label: segments.allContacts }, ...audiences]}
            onChange={(value) => onChange({ ...draft, audienceId: value === ALL ? null : value })}
          />
        </Field>
      </div>
      <SegmentGroup
        node={root}
        depth={0}
        onReplace={(key, next) => onChange({ ...draft, root: replaceNode(root, key, next) })}
      />
      <div className="flex flex-wrap items-start justify-between gap-4">
        <LiveCount draft={draft} />
        {!isReadOnly && (
          <Button type="submit" variant="primary" isLoading={isSaving} disabled={!isComplete(root)}>
            {segments.save}
          </Button>
        )}
      </div>
    </form>
  )
}

const TYPING_MS = 400

/** How many contacts the conditions select now, and what they probably do not mean. */
function LiveCount({ draft }: { readonly draft: SegmentDraft }): ReactNode {
  const { segments } = useTexts()
  const { root, audienceId } = useDebounced(draft, TYPING_MS)
  const isReady = isComplete(root)
  const { data, error, isFetching } = useApi(
    previewSegment,
    { body: { audience_id: audienceId, filter: toFilter(root) } },
    { isEnabled: isReady, keepsPrevious: true },
  )
  const found = data?.data
  return (
    <div className="flex min-w-0 flex-col gap-2" aria-live="polite">
      <Card className="flex items-baseline gap-2 px-4 py-3">
        <span className="text-2xl font-semibold tabular-nums">
          {found === undefined || !isReady ? '–' : <NumberText value={found.count} isExact />}
        </span>
        <span className="text-muted">{isReady ? segments.counted(found?.count ?? 0) : segments.incomplete}</span>
        {isFetching && <Spinner size={14} />}
      </Card>
      {isReady && error !== null && (
        <Callout tone="danger">{error.details.map(({ message }) => message).join(' ') || error.message}</Callout>
      )}
      {isReady &&
        found?.warnings.map((warning) => (
          <Callout key={warning} tone="warning">
            {warning}
          </Callout>
        ))}
    </div>
  )
}
