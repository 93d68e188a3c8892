/**
 * Segments: stored filters with a name; each request evaluates the filter anew. Contacts come in pages behind a cursor,
 * so that a late page costs as much as the first. A customer's filter may be slow: the query ends after 20 seconds. A
 * segment or audience of another workspace is not found.
 */
import { z } from 'zod'
import { describeUnknown, findUnknownAttributes } from '#src/contacts/attribute-names.ts'
import { findAudience } from '#src/contacts/audiences.ts'
import { MEMBER_COLUMNS } from '#src/contacts/audience-member.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { attributesOf } from '#src/segments/filter.ts'
import {
  createSegment,
  deleteSegment,
  findSegment,
  listSegments,
  MAX_SEGMENTS,
  updateSegment,
  type Segment,
} from '#src/segments/segments.ts'
import {
  withStatementTimeout,
  countSelection,
  isCursor,
  readSlice,
  type ContactSelection,
} from '#src/segments/selection.ts'
import type { ApiContext } from '#api/http/context.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { NO_AUDIENCE } from './audiences.ts'
import {
  contactPage,
  count,
  countedSegmentResponse,
  createBody,
  type SegmentContact,
  pageQuery,
  presentSegmentContact,
  presentSegment,
  previewBody,
  segmentResponse,
  segmentContact,
  segmentSchema,
  updateBody,
  warningsField,
} from './segment-schemas.ts'

const READ = { admin: 'contacts:read' } as const
const WRITE = { admin: 'contacts:write' } as const
const byPath = z.object({ id: z.string() })
/** How many contacts a preview shows. */
const SAMPLE_SIZE = 10

export const NO_SEGMENT = refuse('NOT_FOUND', 'There is no such segment. List them with list-segments.')
const TOO_SLOW = invalid([
  { path: 'filter', message: 'takes longer than 20 seconds to evaluate; use fewer conditions, or an audience' },
])

const create = route({
  name: 'create-segment',
  summary: 'Create a segment: a filter with a name',
  method: 'POST',
  paths: ['/public/segments'],
  access: WRITE,
  body: createBody,
  status: 201,
  response: segmentResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    if (!(await isOwnAudience(ctx, workspaceId, body.audienceId))) return NO_AUDIENCE
    const created = await createSegment(ctx.db, workspaceId, body)
    if (created === null)
      return refuse('CONFLICT', `A workspace has at most ${MAX_SEGMENTS} segments. Delete one first.`)
    const data = { ...presentSegment(created), warnings: await findWarnings(ctx, workspaceId, created) }
    return { body: { success: true, message: 'Segment created.', data } }
  },
})

const list = route({
  name: 'list-segments',
  summary: 'List the segments of the workspace, newest first',
  method: 'GET',
  paths: ['/public/segments'],
  access: READ,
  query: paging,
  status: 200,
  response: pagedList('segments', segmentSchema),
  errors: [],
  handle: async (ctx, request) => {
    const { caller } = request
    const page = openPage(ctx, 'list-segments', request)
    if (isRefusal(page)) return page
    const found = await listSegments(ctx.db, caller.workspaceId, page)
    const data = pageData('segments', mapPage(found, presentSegment), page)
    return { body: { success: true, message: `${countText(found.total, 'segment')}.`, data } }
  },
})

const get = route({
  name: 'get-segment',
  summary: 'Get a segment and its present number of contacts',
  method: 'GET',
  paths: ['/public/segments/:id'],
  access: READ,
  params: byPath,
  status: 200,
  response: countedSegmentResponse,
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: (ctx, { caller: { workspaceId }, params }) =>
    withSegment(ctx, workspaceId, params.id, async (segment) => {
      const total = await countSelection(ctx.db, selectionOf(workspaceId, segment), ctx.clock.now())
      if (total === null) return TOO_SLOW
      const warnings = await findWarnings(ctx, workspaceId, segment)
      const data = { ...presentSegment(segment), contactCount: total, contact_count: total, warnings }
      return { body: { success: true, message: `${countText(total, 'contact')}.`, data } }
    }),
})

const update = route({
  name: 'update-segment',
  summary: 'Update the name, description, audience or filter of a segment; omitted fields are not changed',
  method: 'PATCH',
  paths: ['/public/segments/:id'],
  access: WRITE,
  params: byPath,
  body: updateBody,
  status: 200,
  response: segmentResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, params, body }) => {
    if (!(await isOwnAudience(ctx, workspaceId, body.audienceId ?? null))) return NO_AUDIENCE
    const changed = isUuid(params.id) ? await updateSegment(ctx.db, workspaceId, params.id, body) : null
    if (changed === null) return NO_SEGMENT
    const data = { ...presentSegment(changed), warnings: await findWarnings(ctx, workspaceId, changed) }
    return { body: { success: true, message: 'Segment updated.', data } }
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
  summary: `Preview a filter: count its contacts and return ${SAMPLE_SIZE} of them`,
  method: 'POST',
  paths: ['/public/segments/preview'],
  access: READ,
  body: previewBody,
  status: 200,
  response: envelope(z.object({ count, contacts: z.array(segmentContact), warnings: warningsField })),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    if (!(await isOwnAudience(ctx, workspaceId, body.audienceId))) return NO_AUDIENCE
    const selection = selectionOf(workspaceId, body)
    const total = await countSelection(ctx.db, selection, ctx.clock.now())
    const sample = await readPage(ctx, selection, null, SAMPLE_SIZE)
    if (total === null || sample === null) return TOO_SLOW
    const warnings = await findWarnings(ctx, workspaceId, body)
    const data = { count: total, contacts: sample.map(presentSegmentContact), warnings }
    return { body: { success: true, message: `${countText(total, 'contact')}.`, data } }
  },
})

const listContacts = route({
  name: 'list-segment-contacts',
  summary: 'List the contacts of a segment',
  method: 'GET',
  paths: ['/public/segments/:id/contacts'],
  access: READ,
  params: byPath,
  query: pageQuery,
  status: 200,
  response: contactPage,
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: (ctx, request) => {
    const { caller, params, query } = request
    return withSegment(ctx, caller.workspaceId, params.id, async (segment) => {
      const selection = selectionOf(caller.workspaceId, segment)
      const page = openPage(ctx, 'list-segment-contacts', request, (text) => (isCursor(selection, text) ? text : null))
      if (isRefusal(page)) return page
      // a client repeats `after` with the cursor: it is the start of the first page only
      const after = page.at?.key[0] ?? query.after ?? null
      if (after !== null && !isCursor(selection, after))
        return invalid([{ path: 'after', message: 'is not a cursor of this segment' }])
      // one more shows whether there is a next page
      const found = await readPage(ctx, selection, after, query.limit + 1)
      if (found === null) return TOO_SLOW
      const contacts = found.slice(0, query.limit)
      const last = contacts.length < query.limit ? null : (contacts.at(-1)?.cursor ?? null)
      const position = found.length > query.limit && last !== null ? { key: [last], before: 0, total: 0 } : null
      const data = { contacts: contacts.map(presentSegmentContact), limit: query.limit, next: last }
      return {
        body: {
          success: true,
          message: `${countText(contacts.length, 'contact')}.`,
          data: { ...data, ...nextCursor(position, page) },
        },
      }
    })
  },
})

export const SEGMENT_ROUTES: readonly AnyRoute[] = [create, list, preview, get, update, remove, listContacts]

/** Attributes that no contact has. */
async function findWarnings(
  ctx: ApiContext,
  workspaceId: string,
  { filter }: Pick<Segment, 'filter'>,
): Promise<string[]> {
  return (await findUnknownAttributes(ctx.db, workspaceId, attributesOf(filter))).map(describeUnknown)
}

function selectionOf(
  workspaceId: string,
  { audienceId, filter: segmentFilter }: Pick<Segment, 'audienceId' | 'filter'>,
): ContactSelection {
  return { workspaceId, audienceId, filter: segmentFilter, isSubscribedOnly: false }
}

function readPage(
  ctx: ApiContext,
  selection: ContactSelection,
  after: string | null,
  limit: number,
): Promise<SegmentContact[] | null> {
  return withStatementTimeout(ctx.db, (tx) =>
    readSlice<SegmentContact>(tx, selection, { columns: MEMBER_COLUMNS, after, limit, nowMs: ctx.clock.now() }),
  )
}

async function isOwnAudience(ctx: ApiContext, workspaceId: string, audienceId: string | null): Promise<boolean> {
  return audienceId === null || (await findAudience(ctx.db, workspaceId, audienceId)) !== null
}

async function withSegment(
  ctx: ApiContext,
  workspaceId: string,
  id: string,
  handle: (segment: Segment) => Promise<ApiResponse | Refusal>,
): Promise<ApiResponse | Refusal> {
  const segment = isUuid(id) ? await findSegment(ctx.db, workspaceId, id) : null
  return segment === null ? NO_SEGMENT : handle(segment)
}
