/**
 * Contacts: list by audience, get, add, update and delete. A request names a contact by its id or its address, not
 * both. Contacts and audiences of another workspace are not found. No route here subscribes an unsubscribed
 * membership again.
 */
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { deleteContact, updateContact, type ChangeResult } from '#src/contacts/change-contact.ts'
import type { ContactSelector } from '#src/contacts/find-contact.ts'
import { unsubscribe } from '#src/contacts/membership.ts'
import { emailRule } from '#src/contacts/field-rules.ts'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { MEMBER_SORTS } from '#src/contacts/member-sorts.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { publishNotifications, type CommitNotifications } from '#src/queue/notifications.ts'
import { isUuid } from '#src/platform/id.ts'
import { addBody, updateBody } from './contact-fields.ts'
import { fullContact, presentFull, presentSlim, slimContact } from './contact-view.ts'
import type { ApiContext } from '#api/http/context.ts'
import { flag } from '#api/http/boolean-field.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, pagedList } from '#api/http/response-schemas.ts'
import { sortBy, sortDir } from '#api/http/sorting.ts'
import { countText } from '#src/platform/plural.ts'
import { NO_AUDIENCE } from './audiences.ts'

const READ = { admin: 'contacts:read' } as const
const WRITE = { admin: 'contacts:write' } as const
export const NO_CONTACT = refuse('NOT_FOUND', 'There is no such contact. List them with get-contacts.')
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const listQuery = paging
  .extend({
    audienceId: z.string().optional(),
    audience_id: z.string().optional().meta(aliasOf('audienceId')),
    sortBy: sortBy(MEMBER_SORTS, 'createdAt'),
    sortDir: sortDir('asc'),
    subscribedOnly: flag,
    subscribed_only: flag.meta(aliasOf('subscribedOnly')),
  })
  .transform((given, sink) => {
    const audienceId = given.audienceId || given.audience_id
    if (!audienceId) sink.addIssue({ code: 'custom', path: ['audienceId'], message: 'is required' })
    return {
      audienceId: audienceId || z.NEVER,
      page: given.page,
      limit: given.limit,
      cursor: given.cursor,
      sort: given.sortBy,
      direction: given.sortDir,
      isSubscribedOnly: given.subscribedOnly || given.subscribed_only,
    }
  })

export const contactNameFields = z.object({
  id: z.string().optional().meta({ description: 'of the contact; give this or email' }),
  email: z.string().optional().meta({ description: 'of the contact, URL-encoded; give this or id' }),
})

interface IssueSink {
  addIssue(issue: { code: 'custom'; path: string[]; message: string }): void
}

/** Reads which contact the request names. A malformed id is not an error: no contact has it. */
export function readContactName(given: z.output<typeof contactNameFields>, sink: IssueSink): ContactSelector {
  const reject = (path: string, message: string): ContactSelector => {
    sink.addIssue({ code: 'custom', path: [path], message })
    return z.NEVER
  }
  if (given.id && given.email) return reject('id', 'give id or email, not both')
  if (given.id) return { id: given.id }
  if (!given.email) return reject('id', 'id or email is required')
  // an unencoded plus arrives as a space, which no address has
  const parsed = emailRule(given.email.trim().replaceAll(' ', '+'))
  return parsed.ok ? { email: parsed.value } : reject('email', parsed.reason)
}

export const byName = contactNameFields.transform((given, sink) => ({ contact: readContactName(given, sink) }))
const getContactQuery = contactNameFields
  .extend({
    audienceId: z
      .string()
      .optional()
      .meta({ description: 'the audience whose status is returned; by default the latest' }),
    audience_id: z.string().optional().meta(aliasOf('audienceId')),
  })
  .transform((given, sink) => ({
    contact: readContactName(given, sink),
    audienceId: given.audienceId || given.audience_id || null,
  }))

const idResponse = envelope(z.object({ id: z.uuid() }))

const list = route({
  name: 'get-contacts',
  summary: 'List the contacts of an audience',
  method: 'GET',
  paths: ['/public/contacts/get-contacts'],
  access: READ,
  query: listQuery,
  status: 200,
  response: pagedList('contacts', slimContact),
  errors: ['NOT_FOUND'],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'get-contacts', request)
    if (isRefusal(page)) return page
    const { workspaceId, keyId } = caller
    const { sort, direction, isSubscribedOnly, audienceId } = query
    const listing = { ...page, sort, direction, isSubscribedOnly, audienceId, keyId: keyId ?? workspaceId }
    const found = isUuid(query.audienceId) ? await ctx.listMembers(workspaceId, listing) : null
    if (found === null) return NO_AUDIENCE
    const { members, ...rest } = found
    const data = pageData('contacts', { ...rest, items: members.map(presentSlim) }, page)
    return { body: { success: true, message: `${countText(found.total, 'contact')}.`, data } }
  },
})

const get = route({
  name: 'get-contact',
  summary: 'Get a contact by id or email',
  method: 'GET',
  paths: ['/public/contacts/get-contact'],
  access: READ,
  query: getContactQuery,
  status: 200,
  response: envelope(fullContact),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact, audienceId } }) => {
    if (!isWellFormed(contact)) return NO_CONTACT
    if (audienceId !== null && !isUuid(audienceId)) return NO_AUDIENCE
    const found = await ctx.contacts.find({ workspaceId, contact, audienceId })
    if (found === null) return NO_CONTACT
    const isOutsideAudience = audienceId !== null && found.isSubscribed === null
    if (isOutsideAudience && (await findAudience(ctx.db, workspaceId, audienceId)) === null) return NO_AUDIENCE
    return { body: { success: true, message: 'Contact found.', data: presentFull(found) } }
  },
})

const add = route({
  name: 'add-contact',
  summary: 'Add a contact to an audience; an existing contact is updated with the given fields',
  method: 'POST',
  paths: ['/public/contacts/add-contact'],
  access: WRITE,
  body: addBody,
  status: 201,
  response: idResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, body: { email, audienceId, profile } }) => {
    const to = { workspaceId, audienceId, now: new Date(ctx.clock.now()) }
    const result = await ctx.db
      .transaction((tx) => saveContacts(tx, to, [{ email, ...profile }]))
      .catch(refuseConstraint)
    if ('error' in result) return result
    if (result.kind !== 'saved') return NO_AUDIENCE
    publishNotifications(ctx, result.notifications)
    return { body: { success: true, message: 'Contact added.', data: { id: result.contacts[0]?.contactId } } }
  },
})

const update = route({
  name: 'update-contact',
  summary: 'Update a contact; null clears a field, omitted fields are not changed',
  method: 'PATCH',
  paths: ['/public/contacts/update-contact'],
  access: WRITE,
  query: byName,
  body: updateBody,
  status: 200,
  response: idResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact }, body }) => {
    const id = await findContactId(ctx, workspaceId, contact)
    if (id === null) return NO_CONTACT
    const result = await applyChange(ctx, { workspaceId, id }, body).catch(refuseConstraint)
    if ('error' in result) return result
    if (result.kind === 'no contact') return NO_CONTACT
    return result.kind === 'no audience'
      ? NO_AUDIENCE
      : { body: { success: true, message: 'Contact updated.', data: { id } } }
  },
})

const remove = route({
  name: 'delete-contact',
  summary: 'Delete a contact permanently, from all audiences',
  method: 'DELETE',
  paths: ['/public/contacts/delete-contact'],
  access: WRITE,
  query: byName,
  status: 200,
  response: idResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact } }) => {
    const id = await findContactId(ctx, workspaceId, contact)
    const isDeleted = id !== null && (await ctx.db.transaction((tx) => deleteContact(tx, workspaceId, id)))
    return isDeleted ? { body: { success: true, message: 'Contact deleted.', data: { id } } } : NO_CONTACT
  },
})

export const CONTACT_ROUTES: readonly AnyRoute[] = [list, get, add, update, remove]

export function isWellFormed(contact: ContactSelector): boolean {
  return !('id' in contact) || isUuid(contact.id)
}

export async function findContactId(
  ctx: ApiContext,
  workspaceId: string,
  contact: ContactSelector,
): Promise<string | null> {
  if ('id' in contact) return isUuid(contact.id) ? contact.id.toLowerCase() : null
  return (await ctx.contacts.find({ workspaceId, contact, audienceId: null }))?.id ?? null
}

interface ContactRef {
  readonly workspaceId: string
  readonly id: string
}

/** Applies the fields, the joined audience and the ended subscriptions in one transaction. */
async function applyChange(
  ctx: ApiContext,
  { workspaceId, id }: ContactRef,
  fields: z.output<typeof updateBody>,
): Promise<ChangeResult> {
  const at = { workspaceId, audienceId: fields.audienceId, now: new Date(ctx.clock.now()) }
  const news: CommitNotifications[] = []
  const result = await ctx.db.transaction(async (tx) => {
    const changed = await updateContact(tx, at, id, { ...fields.profile, email: fields.email })
    if (changed.kind !== 'changed') return changed
    news.push(changed.notifications)
    const ended = fields.isUnsubscribed ? await unsubscribe(tx, at, id) : null
    if (ended !== null) news.push(ended.notifications)
    return changed
  })
  for (const one of news) publishNotifications(ctx, one)
  return result
}

const CONSTRAINTS: Readonly<Record<string, Refusal>> = {
  contacts_attributes_size: invalid([
    { path: 'custom_attributes', message: 'too large together with the stored attributes' },
  ]),
  contacts_email_key: refuse('CONFLICT', 'Another contact has this address. Get that one, and update or delete it.'),
}

/** Turns the violation of a known constraint into a refusal; rethrows other errors. */
function refuseConstraint(error: unknown): Refusal {
  const constraint = error instanceof Error && 'constraint' in error ? String(error.constraint) : ''
  const refusal = CONSTRAINTS[constraint]
  if (refusal === undefined) throw error
  return refusal
}
