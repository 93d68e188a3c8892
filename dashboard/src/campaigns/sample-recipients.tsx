/** Some of the contacts that would get the mail; the chosen one is the contact of the preview and of the test. */
import type { ReactNode } from 'react'
import { getContacts, listSegmentContacts } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import type { DraftFields } from './use-draft.ts'

const SHOWN = 4

interface SampleRecipientsProps {
  readonly fields: DraftFields
  readonly chosenId: string | null
  readonly onChoose: (id: string) => void
}

export function SampleRecipients({ fields, chosenId, onChoose }: SampleRecipientsProps): ReactNode {
  const { campaigns } = useTexts()
  const can = useCan()
  const contacts = useSample(fields)
  if (!can('contacts:read')) return null
  return (
    <Section title={campaigns.sample} description={campaigns.sampleText}>
      {contacts === undefined && <Skeleton className="h-28 w-full" />}
      {contacts?.length === 0 && <Card className="text-muted">{campaigns.noSample}</Card>}
      {contacts !== undefined && contacts.length > 0 && (
        <RadioCards
          label={campaigns.sample}
          value={chosenId}
          onChange={onChoose}
          options={contacts.map(({ id, email, firstName, lastName }) => ({
            value: id,
            label: email,
            description: [firstName, lastName].filter(Boolean).join(' ') || '–',
          }))}
        />
      )}
    </Section>
  )
}

interface SampleContact {
  readonly id: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
}

/** Undefined while they are loaded. */
function useSample(fields: DraftFields): readonly SampleContact[] | undefined {
  const segmentId = fields.segment_id
  const audienceId = fields.audience_ids[0]
  const ofSegment = useApi(
    listSegmentContacts,
    { params: { id: segmentId ?? '' }, query: { limit: SHOWN } },
    { isEnabled: segmentId !== null },
  )
  const ofAudience = useApi(
    getContacts,
    { query: { limit: SHOWN, ...(audienceId === undefined ? {} : { audienceId }) } },
    { isEnabled: segmentId === null && audienceId !== undefined },
  )
  if (audienceId === undefined) return []
  return (segmentId === null ? ofAudience : ofSegment).data?.data.contacts
}
