/** Step 1: who gets it. Audiences, a segment of them, and contacts that are left out; the count follows. */
import { UserMinus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { getAudiences, listSegments } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { formErrors } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { ExcludeDialog } from './exclude-dialog.tsx'
import { RecipientCount } from './recipient-count.tsx'
import type { Draft } from './use-draft.ts'

const MAX_LISTED = 100
const SEARCHABLE_FROM = 9
const EVERYONE = 'everyone'

export function WhoStep({ draft }: { readonly draft: Draft }): ReactNode {
  const { campaigns } = useTexts()
  const errors = formErrors(draft.error, ['audience_ids', 'segment_id'])
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="flex flex-col gap-6">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Section title={campaigns.audiences} description={campaigns.audiencesHint}>
          <AudienceList draft={draft} />
          {errors.of('audience_ids') !== undefined && (
            <p role="alert" className="mt-2 text-sm text-danger-text">
              {errors.of('audience_ids')}
            </p>
          )}
        </Section>
        <SegmentChoice draft={draft} error={errors.of('segment_id')} />
      </div>
      <div className="lg:sticky lg:top-20">
        <RecipientCount draft={draft} />
      </div>
    </div>
  )
}

function AudienceList({ draft }: { readonly draft: Draft }): ReactNode {
  const { campaigns, ui } = useTexts()
  const path = useWorkspacePath()
  const [text, setText] = useState('')
  const query = useApi(getAudiences, { query: { limit: MAX_LISTED, sortBy: 'name', sortDir: 'asc' } })
  if (query.error !== null) return <FailedQuery query={query} title={campaigns.oneNotLoaded} />
  if (query.data === undefined) return <Skeleton className="h-40 w-full" />
  const { audiences } = query.data.data
  if (audiences.length === 0)
    return (
      <EmptyState
        title={campaigns.noAudience}
        text={campaigns.noAudienceText}
        action={<ButtonLink href={path('/audiences')}>{campaigns.toAudiences}</ButtonLink>}
      />
    )
  const chosen = draft.fields.audience_ids
  const shown = audiences.filter(({ name }) => name.toLocaleLowerCase().includes(text.toLocaleLowerCase()))
  return (
    <Card>
      {audiences.length >= SEARCHABLE_FROM && (
        <div className="mb-3">
          <SearchInput value={text} onChange={setText} label={ui.search} />
        </div>
      )}
      <div className="flex max-h-80 flex-col gap-3 overflow-y-auto">
        {shown.length === 0 && <p className="text-muted">{ui.noResults}</p>}
        {shown.map(({ id, name, contact_count: count }) => (
          <Checkbox
            key={id}
            label={name}
            hint={campaigns.members(count)}
            isChecked={chosen.includes(id)}
            onChange={(isChecked) => {
              const rest = chosen.filter((one) => one !== id)
              draft.change({ audience_ids: isChecked ? [...rest, id] : rest })
            }}
          />
        ))}
      </div>
    </Card>
  )
}

function SegmentChoice({ draft, error }: { readonly draft: Draft; readonly error: string | undefined }): ReactNode {
  const { campaigns } = useTexts()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const query = useApi(listSegments, { query: { limit: MAX_LISTED } })
  const segments = query.data?.data.segments ?? []
  return (
    <Section
      title={campaigns.segment}
      actions={
        can('contacts:write') && can('campaigns:write') ? (
          <Button size="sm" icon={UserMinus} onClick={() => changeSearch({ exclude: '1' })}>
            {campaigns.exclude}
          </Button>
        ) : undefined
      }
    >
      <Field label={campaigns.segment} isLabelHidden hint={campaigns.segmentHint} error={error}>
        <Select
          value={draft.fields.segment_id ?? EVERYONE}
          onChange={(value) => draft.change({ segment_id: value === EVERYONE ? null : value })}
          options={[
            { value: EVERYONE, label: campaigns.everyone },
            ...segments.map(({ id, name, description }) => ({
              value: id,
              label: name,
              ...(description === null ? {} : { description }),
            })),
          ]}
        />
      </Field>
      <ExcludeDialog
        draft={draft}
        base={segments.find(({ id }) => id === draft.fields.segment_id) ?? null}
        isOpen={search['exclude'] !== undefined}
        onClose={() => changeSearch({ exclude: undefined })}
      />
    </Section>
  )
}
