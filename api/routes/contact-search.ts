/**
 * Finds contacts: of the workspace, of an audience or of a segment, by the beginning of the address, status, tag and
 * attribute, in pages behind a cursor. A late page costs as much as the first. A condition that few contacts meet may
 * be slow: the query ends after 20 seconds. Audiences and segments of another workspace are not found.
 */
import { z } from 'zod'
import { listAttributes } from '#src/contacts/attribute-names.ts'
import { MEMBER_COLUMNS } from '#src/contacts/audience-member.ts'
import { findAudience } from '#src/contacts/audiences.ts'
import { listMemberships } from '#src/contacts/memberships-of-contact.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import { STATUSES, type Filter } from '#src/segments/filter.ts'
import { findSegment } from '#src/segments/segments.ts'
import { isCursor, readSlice, withStatementTimeout, type ContactSelection } from '#src/segments/selection.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { NO_AUDIENCE } from './audiences.ts'
import { byName, findContactId, NO_CONTACT } from './contacts.ts'
import { presentSegmentContact, segmentContact, type SegmentContact } from './segment-schemas.ts'
import { NO_SEGMENT } from './segments.ts'

const READ = { admin: 'contacts:read' } as const
const TOO_SLOW = invalid([
  { path: 'search', message: 'takes longer than 20 seconds; search in an audience or segment' },
])
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const text = z.string().max(500, 'at most 500 characters').optional()

const searchQuery = paging
  .pick({ limit: true, cursor: true })
  .extend({
    audienceId: text.meta({ description: 'only members of this audience' }),
    audience_id: text.meta(aliasOf('audienceId')),
    segmentId: text.meta({ description: 'only contacts of this segment' }),
    segment_id: text.meta(aliasOf('segmentId')),
    search: text.meta({ description: 'the beginning of the address' }),
    status: z
      .enum(STATUSES)
      .optional()
      .meta({ description: 'in the audience; without one, in any. blocked: suppressed' }),
    tag: text.meta({ description: 'only contacts with this tag' }),
    attribute: text.meta({ description: 'only contacts with this custom attribute' }),
    value: text.meta({ description: 'the value of the attribute; without it, any value' }),
  })
  .transform(({ audience_id, segment_id, ...given }) => ({
    ...given,
    audienceId: given.audienceId || audience_id || null,
    segmentId: given.segmentId || segment_id || null,
  }))
type Search = z.output<typeof searchQuery>

const search = route({
  name: 'search-contacts',
  summary: 'Find contacts by audience, segment, address, status, tag and attribute',
  method: 'GET',
  paths: ['/public/contacts/search'],
  access: READ,
  query: searchQuery,
  status: 200,
  response: envelope(z.object({ contacts: z.array(segmentContact), limit: z.int(), ...nextCursorField })),
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const selection = await findSelection(ctx, caller.workspaceId, query)
    if (isRefusal(selection)) return selection
    // without a cursor it is the first page, which has one, too
    const paged = { ...request, query: { ...query, cursor: query.cursor ?? '' } }
    const page = openPage(ctx, 'search-contacts', paged, (key) => (isCursor(selection, key) ? key : null))
    if (isRefusal(page)) return page
    const found = await withStatementTimeout(ctx.db, (tx) =>
      readSlice<SegmentContact>(tx, selection, {
        columns: `${MEMBER_COLUMNS}, m.is_subscribed AS "isSubscribed"`,
        after: page.at?.key[0] ?? null,
        limit: query.limit + 1,
        nowMs: ctx.clock.now(),
      }),
    )
    if (found === null) return TOO_SLOW
    const contacts = found.slice(0, query.limit)
    const last = found.length > query.limit ? contacts.at(-1) : undefined
    const position = last === undefined ? null : { key: [last.cursor], before: 0, total: 0 }
    const data = { contacts: contacts.map(presentSegmentContact), limit: query.limit, ...nextCursor(position, page) }
    return { body: { success: true, message: `${countText(contacts.length, 'contact')}.`, data } }
  },
})

const attributes = route({
  name: 'list-contact-attributes',
  summary: 'List names of custom attributes that contacts of the workspace have',
  description: 'The names are read from the first 5000 contacts by address.',
  method: 'GET',
  paths: ['/public/contacts/attributes'],
  access: READ,
  status: 200,
  response: envelope(
    z.object({
      attributes: z.array(z.string()).meta({ description: 'the names of the custom attributes that contacts have' }),
    }),
  ),
  errors: [],
  handle: async (ctx, { caller }) => {
    const names = await listAttributes(ctx.db, caller.workspaceId)
    return { body: { success: true, message: `${countText(names.length, 'attribute')}.`, data: { attributes: names } } }
  },
})

const membershipSchema = z.object({
  audience_id: z.uuid(),
  audience_name: z.string().meta({ description: 'the name of the audience' }),
  status: z.enum(['subscribed', 'unsubscribed']),
  joined_at: timestamp.meta({ description: 'when the contact joined the audience' }),
  updated_at: timestamp,
})
const memberships = route({
  name: 'get-contact-memberships',
  summary: 'List the audiences of a contact, with its status in each',
  method: 'GET',
  paths: ['/public/contacts/memberships'],
  access: READ,
  query: byName,
  status: 200,
  response: envelope(
    z.object({
      memberships: z
        .array(membershipSchema)
        .meta({ description: 'the audiences of the contact, with its state in each' }),
    }),
  ),
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact } }) => {
    const id = await findContactId(ctx, workspaceId, contact)
    const found = id === null ? null : await ctx.contacts.find({ workspaceId, contact: { id }, audienceId: null })
    if (found === null) return NO_CONTACT
    const rows = await listMemberships(ctx.db, workspaceId, found.id)
    const data = {
      memberships: rows.map((row) => ({
        audience_id: row.audienceId,
        audience_name: row.audienceName,
        status: row.isSubscribed ? ('subscribed' as const) : ('unsubscribed' as const),
        joined_at: row.joinedAt.toISOString(),
        updated_at: row.updatedAt.toISOString(),
      })),
    }
    return { body: { success: true, message: `${countText(rows.length, 'audience')}.`, data } }
  },
})

export const CONTACT_SEARCH_ROUTES: readonly AnyRoute[] = [search, attributes, memberships]

/**
 * A search by address reads the contacts by address, so that it costs what it finds; the audience is then one of the
 * conditions.
 */
async function findSelection(ctx: ApiContext, workspaceId: string, query: Search): Promise<ContactSelection | Refusal> {
  const { audienceId, segmentId } = query
  const segment = segmentId !== null && isUuid(segmentId) ? await findSegment(ctx.db, workspaceId, segmentId) : null
  if (segmentId !== null && segment === null) return NO_SEGMENT
  const chosenId = audienceId ?? segment?.audienceId ?? null
  const audience = chosenId !== null && isUuid(chosenId) ? await findAudience(ctx.db, workspaceId, chosenId) : null
  if (chosenId !== null && audience === null) return NO_AUDIENCE
  const prefix = query.search?.trim().toLowerCase() ?? ''
  const conditions = conditionsOf(query, audience?.id ?? null)
  if (segment !== null) conditions.push(segment.filter)
  if (prefix !== '' && audience !== null) conditions.push({ status: 'member', audienceId: audience.id })
  return {
    workspaceId,
    audienceId: prefix === '' ? (audience?.id ?? null) : null,
    filter: conditions.length === 0 ? null : { all: conditions },
    isSubscribedOnly: false,
    addressPrefix: prefix === '' ? null : prefix,
  }
}

function conditionsOf({ status, tag, attribute, value }: Search, audienceId: string | null): Filter[] {
  const conditions: Filter[] = []
  if (status !== undefined) conditions.push({ status, audienceId })
  if (tag !== undefined && tag !== '') conditions.push({ tag, has: true })
  if (attribute !== undefined && attribute !== '')
    conditions.push(
      value === undefined || value === '' ? { attribute, op: 'exists', value: true } : { attribute, op: 'eq', value },
    )
  return conditions
}
