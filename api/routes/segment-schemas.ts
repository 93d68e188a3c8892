/** What the endpoints of segments accept and return: filters, names, segments and their contacts. */
import { z } from 'zod'
import type { AudienceMember } from '#src/contacts/audience-member.ts'
import { isUuid } from '#src/platform/id.ts'
import { ACTIVITIES, SEGMENT_FIELDS, OPERATORS, readFilter, STATUSES, type Filter } from '#src/segments/filter.ts'
import type { Segment, SegmentChange, NewSegment } from '#src/segments/segments.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { paging } from '#api/http/paging.ts'
import { presentSlim, slimContact } from './contact-view.ts'

const MAX_NAME = 255
const MAX_DESCRIPTION = 2000

const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const FILTER_DESCRIPTION = `Groups: {"all": […]}, {"any": […]}, {"not": {…}}. Conditions: {"tag": "vip", "has": true};
{"attribute": "plan", "op": "eq", "value": "pro"};
{"field": "firstName", "op": "contains", "value": "an"} with ${Object.keys(SEGMENT_FIELDS).join(', ')};
{"status": "subscribed", "audienceId": "…"} with ${STATUSES.join(', ')};
{"activity": "opened", "withinDays": 30} with ${ACTIVITIES.join(', ')}.
Operators: ${OPERATORS.join(', ')}; before and after for times.`

const FILTER_SCHEMA = { type: 'object', description: FILTER_DESCRIPTION }
const filterField = z.unknown().meta(FILTER_SCHEMA).transform(parseFilter)
const optionalFilterField = z
  .unknown()
  .optional()
  .meta(FILTER_SCHEMA)
  .transform((given, sink) => (given === undefined ? undefined : parseFilter(given, sink)))

function parseFilter(given: unknown, sink: z.RefinementCtx): Filter {
  const read = readFilter(given)
  if (read.ok) return read.filter
  for (const { path, message } of read.details.slice(0, 20))
    sink.addIssue({ code: 'custom', path: path.split('.').slice(1), message })
  return z.NEVER
}

const nameField = z.string().trim().min(1, 'is empty').max(MAX_NAME, `at most ${MAX_NAME} characters`)
const descriptionField = z.string().max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`).nullish()
const audienceIdField = z.string().refine(isUuid, 'must be a UUID').nullish()
const audienceFields = { audience_id: audienceIdField, audienceId: audienceIdField.meta(aliasOf('audience_id')) }

export const createBody = z
  .object({ name: nameField, description: descriptionField, ...audienceFields, filter: filterField })
  .transform((given): NewSegment => ({
    name: given.name,
    description: given.description ?? null,
    audienceId: given.audience_id ?? given.audienceId ?? null,
    filter: given.filter,
  }))
export const updateBody = z
  .object({ name: nameField.optional(), description: descriptionField, ...audienceFields, filter: optionalFilterField })
  .transform((given): SegmentChange => ({
    name: given.name,
    description: given.description,
    filter: given.filter,
    audienceId: given.audience_id === undefined ? given.audienceId : given.audience_id,
  }))
export const previewBody = z.object({ ...audienceFields, filter: filterField }).transform((given) => ({
  audienceId: given.audience_id ?? given.audienceId ?? null,
  filter: given.filter,
}))

export const count = z.int().min(0)
const status = slimContact.shape.status
  .nullable()
  .meta({ description: 'in the audience of the segment, or the latest one; null if it is in no audience' })
export const segmentContact = slimContact.extend({ status })
export const segmentSchema = z
  .object({
    id: z.uuid(),
    object: z.literal('segment'),
    name: z.string(),
    description: z.string().nullable(),
    audienceId: z.uuid().nullable(),
    audience_id: z.uuid().nullable(),
    filter: z.record(z.string(), z.unknown()),
    createdAt: timestamp,
    created_at: timestamp,
    updatedAt: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Segment' })
export const warningsField = z
  .array(z.string())
  .meta({ description: 'what the filter probably does not mean, such as an attribute that no contact has' })
export const segmentResponse = envelope(segmentSchema.extend({ warnings: warningsField })).meta({ id: 'SegmentAnswer' })
export const countedSegmentResponse = envelope(
  segmentSchema.extend({ contactCount: count, contact_count: count, warnings: warningsField }),
).meta({
  id: 'CountedSegment',
})

export const pageQuery = paging.pick({ limit: true }).extend({
  after: z.string().max(400).optional().meta({ description: '`next` of the previous page' }),
  cursor: paging.shape.cursor,
})
export const contactPage = envelope(
  z.object({ contacts: z.array(segmentContact), limit: count, next: z.string().nullable(), ...nextCursorField }),
)

/** A contact of a segment; `isSubscribed` is null if it is in no audience. */
export type SegmentContact = Omit<AudienceMember, 'isSubscribed'> & {
  readonly isSubscribed: boolean | null
  readonly cursor: string
}

export function presentSegmentContact(found: SegmentContact): z.output<typeof segmentContact> {
  const slim = presentSlim({ ...found, isSubscribed: found.isSubscribed === true })
  return found.isSubscribed === null ? { ...slim, status: null } : slim
}

export function presentSegment(segment: Segment): Record<string, unknown> {
  const { id, audienceId, createdAt, updatedAt } = segment
  const [created, updated] = [createdAt.toISOString(), updatedAt.toISOString()]
  return {
    id,
    object: 'segment',
    name: segment.name,
    description: segment.description,
    audienceId,
    audience_id: audienceId,
    filter: segment.filter,
    createdAt: created,
    created_at: created,
    updatedAt: updated,
    updated_at: updated,
  }
}
