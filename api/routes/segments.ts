/**
 * Segments: a filter with a name, kept; what it finds is looked up when it is asked for. Contacts come page by page behind a cursor, at the
 * same cost however far. A filter that somebody made up may be slow: looking ends after 20 seconds. Another workspace's segment or audience
 * is not there.
 */
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { MEMBER_COLUMNS, type Member } from '#src/contacts/pages.ts'
import { invalid, refuse, type Refusal } from '#src/errors.ts'
import { isUuid } from '#src/id.ts'
import { ACTIVITIES, FIELDS, OPERATORS, readFilter, STATUSES, type Filter } from '#src/segments/filter.ts'
import {
  createSegment,
  deleteSegment,
  findSegment,
  listSegments,
  MAX_SEGMENTS,
  updateSegment,
  type Segment,
  type SegmentChange,
  type SegmentOrder,
} from '#src/segments/segments.ts'
import { bounded, countSelection, isCursor, readSlice, type Selection } from '#src/segments/selection.ts'
import { presentSlim, slimContact } from '#api/contact-shapes.ts'
import type { ApiContext } from '#api/context.ts'
import { pageData, paging } from '#api/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/route.ts'
import { enveloped, moment, pageOf } from '#api/shapes.ts'
import { NO_AUDIENCE } from './audiences.ts'

const READ = { admin: 'contacts:read' } as const
const WRITE = { admin: 'contacts:write' } as const
const byPath = z.object({ id: z.string() })
const MAX_NAME = 255
const MAX_DESCRIPTION = 2000
/** Shown by a preview. */
const SAMPLE = 10

export const NO_SEGMENT = refuse('NOT_FOUND', 'There is no such segment.')
const TOO_SLOW = invalid([
  { path: 'filter', message: 'takes longer than 20 seconds to look up; use fewer conditions, or an audience' },
])

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

const createBody = z.object({ name, description, ...scope, filter }).transform((given): SegmentOrder => ({
  name: given.name,
  description: given.description ?? null,
  audienceId: given.audience_id ?? given.audienceId ?? null,
  filter: given.filter,
}))
const updateBody = z
  .object({ name: name.optional(), description, ...scope, filter: filterOrNothing })
  .transform((given): SegmentChange => ({
    name: given.name,
    description: given.description,
    filter: given.filter,
    audienceId: given.audience_id === undefined ? given.audienceId : given.audience_id,
  }))
const previewBody = z.object({ ...scope, filter }).transform((given) => ({
  audienceId: given.audience_id ?? given.audienceId ?? null,
  filter: given.filter,
}))

const count = z.int().min(0)
const status = slimContact.shape.status
  .nullable()
  .meta({ description: 'in the audience of the segment, else the latest; null in none' })
const contact = slimContact.extend({ status })
const shown = z
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
const one = enveloped(shown).meta({ id: 'SegmentAnswer' })
const counted = enveloped(shown.extend({ contactCount: count, contact_count: count })).meta({ id: 'CountedSegment' })

const create = route({
  name: 'create-segment',
  summary: 'Keep a filter under a name',
  method: 'POST',
  paths: ['/public/segments'],
  access: WRITE,
  body: createBody,
  status: 201,
  answer: one,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    if (!(await isOwnAudience(ctx, workspaceId, body.audienceId))) return NO_AUDIENCE
    const made = await createSegment(ctx.db, workspaceId, body)
    if (made === null) return refuse('CONFLICT', `A workspace has at most ${MAX_SEGMENTS} segments.`)
    return { body: { success: true, message: 'Segment created.', data: present(made) } }
  },
})

const list = route({
  name: 'list-segments',
  summary: 'The segments of the workspace, the newest first',
  method: 'GET',
  paths: ['/public/segments'],
  access: READ,
  query: paging,
  status: 200,
  answer: pageOf('segments', shown),
  errors: [],
  handle: async (ctx, { caller, query }) => {
    const found = await listSegments(ctx.db, caller.workspaceId, query)
    const data = pageData('segments', { items: found.items.map(present), total: found.total }, query)
    return { body: { success: true, message: `${found.total} segments.`, data } }
  },
})

const get = route({
  name: 'get-segment',
  summary: 'One segment, and how many contacts it has now',
  method: 'GET',
  paths: ['/public/segments/:id'],
  access: READ,
  params: byPath,
  status: 200,
  answer: counted,
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: (ctx, { caller: { workspaceId }, params }) =>
    withSegment(ctx, workspaceId, params.id, async (segment) => {
      const total = await countSelection(ctx.db, selectionOf(workspaceId, segment), ctx.clock.now())
      if (total === null) return TOO_SLOW
      const data = { ...present(segment), contactCount: total, contact_count: total }
      return { body: { success: true, message: `${total} contacts.`, data } }
    }),
})

const update = route({
  name: 'update-segment',
  summary: 'Change name, description, audience or filter; what is left out stays',
  method: 'PATCH',
  paths: ['/public/segments/:id'],
  access: WRITE,
  params: byPath,
  body: updateBody,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, params, body }) => {
    if (!(await isOwnAudience(ctx, workspaceId, body.audienceId ?? null))) return NO_AUDIENCE
    const changed = isUuid(params.id) ? await updateSegment(ctx.db, workspaceId, params.id, body) : null
    return changed === null
      ? NO_SEGMENT
      : { body: { success: true, message: 'Segment changed.', data: present(changed) } }
  },
})

const remove = route({
  name: 'delete-segment',
  summary: 'Delete a segment; its contacts stay',
  method: 'DELETE',
  paths: ['/public/segments/:id'],
  access: WRITE,
  params: byPath,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, params: { id } }) =>
    isUuid(id) && (await deleteSegment(ctx.db, workspaceId, id)) ? {} : NO_SEGMENT,
})

const preview = route({
  name: 'preview-segment',
  summary: `How many contacts a filter finds, and ${SAMPLE} of them`,
  method: 'POST',
  paths: ['/public/segments/preview'],
  access: READ,
  body: previewBody,
  status: 200,
  answer: enveloped(z.object({ count, contacts: z.array(contact) })),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    if (!(await isOwnAudience(ctx, workspaceId, body.audienceId))) return NO_AUDIENCE
    const selection = selectionOf(workspaceId, body)
    const total = await countSelection(ctx.db, selection, ctx.clock.now())
    const sample = await readPage(ctx, selection, null, SAMPLE)
    if (total === null || sample === null) return TOO_SLOW
    return {
      body: {
        success: true,
        message: `${total} contacts.`,
        data: { count: total, contacts: sample.map(presentContact) },
      },
    }
  },
})

const pageQuery = paging.pick({ limit: true }).extend({
  after: z.string().max(400).optional().meta({ description: '`next` of the page before' }),
  cursor: z.string().max(400).optional().meta(aliasOf('after')),
})
const contactPage = enveloped(z.object({ contacts: z.array(contact), limit: count, next: z.string().nullable() }))
const listContacts = route({
  name: 'list-segment-contacts',
  summary: 'The contacts of a segment, page by page',
  method: 'GET',
  paths: ['/public/segments/:id/contacts'],
  access: READ,
  params: byPath,
  query: pageQuery,
  status: 200,
  answer: contactPage,
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: (ctx, { caller: { workspaceId }, params, query }) =>
    withSegment(ctx, workspaceId, params.id, async (segment) => {
      const selection = selectionOf(workspaceId, segment)
      const after = query.after ?? query.cursor ?? null
      if (after !== null && !isCursor(selection, after))
        return invalid([{ path: 'after', message: 'is no cursor of this segment' }])
      const page = await readPage(ctx, selection, after, query.limit)
      if (page === null) return TOO_SLOW
      const next = page.length < query.limit ? null : (page.at(-1)?.cursor ?? null)
      const data = { contacts: page.map(presentContact), limit: query.limit, next }
      return { body: { success: true, message: `${page.length} contacts.`, data } }
    }),
})

export const SEGMENT_ROUTES: readonly AnyRoute[] = [create, list, preview, get, update, remove, listContacts]

function selectionOf(
  workspaceId: string,
  { audienceId, filter: wanted }: Pick<Segment, 'audienceId' | 'filter'>,
): Selection {
  return { workspaceId, audienceId, filter: wanted, isSubscribedOnly: false }
}

type Found = Omit<Member, 'isSubscribed'> & { readonly isSubscribed: boolean | null; readonly cursor: string }

function readPage(ctx: ApiContext, selection: Selection, after: string | null, limit: number): Promise<Found[] | null> {
  return bounded(ctx.db, (tx) =>
    readSlice<Found>(tx, selection, { columns: MEMBER_COLUMNS, after, limit, nowMs: ctx.clock.now() }),
  )
}

function presentContact(found: Found): z.output<typeof contact> {
  const slim = presentSlim({ ...found, isSubscribed: found.isSubscribed === true })
  return found.isSubscribed === null ? { ...slim, status: null } : slim
}

async function isOwnAudience(ctx: ApiContext, workspaceId: string, audienceId: string | null): Promise<boolean> {
  return audienceId === null || (await findAudience(ctx.db, workspaceId, audienceId)) !== null
}

async function withSegment(
  ctx: ApiContext,
  workspaceId: string,
  id: string,
  then: (segment: Segment) => Promise<Answer | Refusal>,
): Promise<Answer | Refusal> {
  const segment = isUuid(id) ? await findSegment(ctx.db, workspaceId, id) : null
  return segment === null ? NO_SEGMENT : then(segment)
}

function present(segment: Segment): Record<string, unknown> {
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
