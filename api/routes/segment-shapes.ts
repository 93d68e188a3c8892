/** What the endpoints of segments accept and return: filters, names, segments and their contacts. */
import { z } from 'zod'
import type { Member } from '#src/contacts/pages.ts'
import { isUuid } from '#src/platform/id.ts'
import { ACTIVITIES, FIELDS, OPERATORS, readFilter, STATUSES, type Filter } from '#src/segments/filter.ts'
import type { Segment, SegmentChange, SegmentOrder } from '#src/segments/segments.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { paging } from '#api/http/paging.ts'
import { presentSlim, slimContact } from './contact-shapes.ts'

const MAX_NAME = 255
const MAX_DESCRIPTION = 2000

const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const DESCRIPTION = `Groups: {"all": […]}, {"any": […]}, {"not": {…}}. Conditions: {"tag": "vip", "has": true};
{"attribute": "plan", "op": "eq", "value": "pro"};
{"field": "firstName", "op": "contains", "value": "an"} with ${Object.keys(FIELDS).join(', ')};
{"status": "subscribed", "audienceId": "…"} with ${STATUSES.join(', ')};
{"activity": "opened", "withinDays": 30} with ${ACTIVITIES.join(', ')}.
Operators: ${OPERATORS.join(', ')}; before and after for moments.`

const SHOWN = { type: 'object', description: DESCRIPTION }
const filter = z.unknown().meta(SHOWN).transform(foldFilter)
const filterOrNothing = z
  .unknown()
  .optional()
  .meta(SHOWN)
  .transform((given, sink) => (given === undefined ? undefined : foldFilter(given, sink)))

function foldFilter(given: unknown, sink: z.RefinementCtx): Filter {
  const read = readFilter(given)
  if (read.ok) return read.filter
  for (const { path, message } of read.details.slice(0, 20))
    sink.addIssue({ code: 'custom', path: path.split('.').slice(1), message })
  return z.NEVER
}

const name = z.string().trim().min(1, 'is empty').max(MAX_NAME, `at most ${MAX_NAME} characters`)
const description = z.string().max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`).nullish()
const audience = z.string().refine(isUuid, 'must be a UUID').nullish()
const scope = { audience_id: audience, audienceId: audience.meta(aliasOf('audience_id')) }

export const createBody = z.object({ name, description, ...scope, filter }).transform((given): SegmentOrder => ({
  name: given.name,
  description: given.description ?? null,
  audienceId: given.audience_id ?? given.audienceId ?? null,
  filter: given.filter,
}))
export const updateBody = z
  .object({ name: name.optional(), description, ...scope, filter: filterOrNothing })
  .transform((given): SegmentChange => ({
    name: given.name,
    description: given.description,
    filter: given.filter,
    audienceId: given.audience_id === undefined ? given.audienceId : given.audience_id,
  }))
export const previewBody = z.object({ ...scope, filter }).transform((given) => ({
  audienceId: given.audience_id ?? given.audienceId ?? null,
  filter: given.filter,
}))

export const count = z.int().min(0)
const status = slimContact.shape.status
  .nullable()
  .meta({ description: 'in the audience of the segment, else the latest; null in none' })
export const segmentContact = slimContact.extend({ status })
export const segmentShape = z
  .object({
    id: z.uuid(),
    object: z.literal('segment'),
    name: z.string(),
    description: z.string().nullable(),
    audienceId: z.uuid().nullable(),
    audience_id: z.uuid().nullable(),
    filter: z.record(z.string(), z.unknown()),
    createdAt: moment,
    created_at: moment,
    updatedAt: moment,
    updated_at: moment,
  })
  .meta({ id: 'Segment' })
export const segmentAnswer = enveloped(segmentShape).meta({ id: 'SegmentAnswer' })
export const countedSegment = enveloped(segmentShape.extend({ contactCount: count, contact_count: count })).meta({
  id: 'CountedSegment',
})

export const pageQuery = paging.pick({ limit: true }).extend({
  after: z.string().max(400).optional().meta({ description: '`next` of the page before' }),
  cursor: z.string().max(400).optional().meta(aliasOf('after')),
})
export const contactPage = enveloped(
  z.object({ contacts: z.array(segmentContact), limit: count, next: z.string().nullable() }),
)

/** A contact that a segment finds; `isSubscribed` is null for one in no audience. */
export type FoundContact = Omit<Member, 'isSubscribed'> & {
  readonly isSubscribed: boolean | null
  readonly cursor: string
}

export function presentContact(found: FoundContact): z.output<typeof segmentContact> {
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
