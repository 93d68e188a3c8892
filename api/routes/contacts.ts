/**
 * Contacts: listed by audience, read, added, changed, deleted. A contact is named by its id or its address, never both. Another
 * workspace's contacts and audiences are not there. An unsubscribed membership stays so, whatever is written here.
 */
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { deleteContact, updateContact, type ChangeResult } from '#src/contacts/change.ts'
import type { ContactName } from '#src/contacts/find.ts'
import { unsubscribe } from '#src/contacts/membership.ts'
import { listMembers } from '#src/contacts/pages.ts'
import { emailRule } from '#src/contacts/rules.ts'
import { saveContacts } from '#src/contacts/save.ts'
import { SORTS } from '#src/contacts/sorts.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { announce, type News } from '#src/queue/notifications.ts'
import { isUuid } from '#src/platform/id.ts'
import { addBody, updateBody } from './contact-fields.ts'
import { fullContact, presentFull, presentSlim, slimContact } from './contact-shapes.ts'
import type { ApiContext } from '#api/http/context.ts'
import { flag } from '#api/http/flag.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, pageOf } from '#api/http/answer-shapes.ts'
import { sortBy, sortDir } from '#api/http/sorting.ts'
import { NO_AUDIENCE } from './audiences.ts'

const READ = { admin: 'contacts:read' } as const
const WRITE = { admin: 'contacts:write' } as const
const NO_CONTACT = refuse('NOT_FOUND', 'There is no such contact.')
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const listQuery = paging
  .extend({
    audienceId: z.string().optional(),
    audience_id: z.string().optional().meta(aliasOf('audienceId')),
    sortBy: sortBy(SORTS, 'createdAt'),
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
      sort: given.sortBy,
      direction: given.sortDir,
      isSubscribedOnly: given.subscribedOnly || given.subscribed_only,
    }
  })

const named = z.object({
  id: z.string().optional().meta({ description: 'of the contact; this or email' }),
  email: z.string().optional().meta({ description: 'of the contact, URL-encoded; this or id' }),
})

interface Sink {
  addIssue(issue: { code: 'custom'; path: string[]; message: string }): void
}

/** Which contact is meant; a malformed id is one that nobody has. */
function readName(given: z.output<typeof named>, sink: Sink): ContactName {
  const wrong = (path: string, message: string): ContactName => {
    sink.addIssue({ code: 'custom', path: [path], message })
    return z.NEVER
  }
  if (given.id && given.email) return wrong('id', 'give id or email, not both')
  if (given.id) return { id: given.id }
  if (!given.email) return wrong('id', 'id or email is required')
  // a plus that was not encoded came as a space, which no address has
  const read = emailRule(given.email.trim().replaceAll(' ', '+'))
  return read.ok ? { email: read.value } : wrong('email', read.reason)
}

const byName = named.transform((given, sink) => ({ contact: readName(given, sink) }))
const getQuery = named
  .extend({
    audienceId: z.string().optional().meta({ description: 'whose status is answered; without it the latest' }),
    audience_id: z.string().optional().meta(aliasOf('audienceId')),
  })
  .transform((given, sink) => ({
    contact: readName(given, sink),
    audienceId: given.audienceId || given.audience_id || null,
  }))

const idAnswer = enveloped(z.object({ id: z.uuid() }))

const list = route({
  name: 'get-contacts',
  summary: 'The contacts of an audience',
  method: 'GET',
  paths: ['/public/contacts/get-contacts'],
  access: READ,
  query: listQuery,
  status: 200,
  answer: pageOf('contacts', slimContact),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query }) => {
    const found = isUuid(query.audienceId) ? await listMembers(ctx.db, caller.workspaceId, query) : null
    if (found === null) return NO_AUDIENCE
    const data = pageData('contacts', { items: found.members.map(presentSlim), total: found.total }, query)
    return { body: { success: true, message: `${found.total} contacts.`, data } }
  },
})

const get = route({
  name: 'get-contact',
  summary: 'One contact, by id or by email',
  method: 'GET',
  paths: ['/public/contacts/get-contact'],
  access: READ,
  query: getQuery,
  status: 200,
  answer: enveloped(fullContact),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact, audienceId } }) => {
    if (!isWellFormed(contact)) return NO_CONTACT
    if (audienceId !== null && !isUuid(audienceId)) return NO_AUDIENCE
    const found = await ctx.contacts.find({ workspaceId, contact, audienceId })
    if (found === null) return NO_CONTACT
    const isElsewhere = audienceId !== null && found.isSubscribed === null
    if (isElsewhere && (await findAudience(ctx.db, workspaceId, audienceId)) === null) return NO_AUDIENCE
    return { body: { success: true, message: 'Contact found.', data: presentFull(found) } }
  },
})

const add = route({
  name: 'add-contact',
  summary: 'Add a contact to an audience; one that is known is updated with the fields given',
  method: 'POST',
  paths: ['/public/contacts/add-contact'],
  access: WRITE,
  body: addBody,
  status: 201,
  answer: idAnswer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, body: { email, audienceId, profile } }) => {
    const to = { workspaceId, audienceId, now: new Date(ctx.clock.now()) }
    const result = await ctx.db.transaction((tx) => saveContacts(tx, to, [{ email, ...profile }])).catch(explain)
    if ('error' in result) return result
    if (result.kind !== 'saved') return NO_AUDIENCE
    announce(ctx, result.news)
    return { body: { success: true, message: 'Contact added.', data: { id: result.contacts[0]?.contactId } } }
  },
})

const update = route({
  name: 'update-contact',
  summary: 'Change fields of a contact; null clears one, what is left out stays',
  method: 'PATCH',
  paths: ['/public/contacts/update-contact'],
  access: WRITE,
  query: byName,
  body: updateBody,
  status: 200,
  answer: idAnswer,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact }, body }) => {
    const id = await idOf(ctx, workspaceId, contact)
    if (id === null) return NO_CONTACT
    const result = await change(ctx, { workspaceId, id }, body).catch(explain)
    if ('error' in result) return result
    if (result.kind === 'no contact') return NO_CONTACT
    return result.kind === 'no audience'
      ? NO_AUDIENCE
      : { body: { success: true, message: 'Contact changed.', data: { id } } }
  },
})

const remove = route({
  name: 'delete-contact',
  summary: 'Delete a contact, from all audiences and for good',
  method: 'DELETE',
  paths: ['/public/contacts/delete-contact'],
  access: WRITE,
  query: byName,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, query: { contact } }) => {
    const id = await idOf(ctx, workspaceId, contact)
    return id !== null && (await ctx.db.transaction((tx) => deleteContact(tx, workspaceId, id))) ? {} : NO_CONTACT
  },
})

export const CONTACT_ROUTES: readonly AnyRoute[] = [list, get, add, update, remove]

function isWellFormed(contact: ContactName): boolean {
  return !('id' in contact) || isUuid(contact.id)
}

async function idOf(ctx: ApiContext, workspaceId: string, contact: ContactName): Promise<string | null> {
  if ('id' in contact) return isUuid(contact.id) ? contact.id.toLowerCase() : null
  return (await ctx.contacts.find({ workspaceId, contact, audienceId: null }))?.id ?? null
}

interface Which {
  readonly workspaceId: string
  readonly id: string
}

/** The fields, the audience that is joined, and the subscriptions that end, all or nothing. */
async function change(
  ctx: ApiContext,
  { workspaceId, id }: Which,
  wanted: z.output<typeof updateBody>,
): Promise<ChangeResult> {
  const at = { workspaceId, audienceId: wanted.audienceId, now: new Date(ctx.clock.now()) }
  const news: News[] = []
  const result = await ctx.db.transaction(async (tx) => {
    const changed = await updateContact(tx, at, id, { ...wanted.profile, email: wanted.email })
    if (changed.kind !== 'changed') return changed
    news.push(changed.news)
    const left = wanted.isUnsubscribed ? await unsubscribe(tx, at, id) : null
    if (left !== null) news.push(left.news)
    return changed
  })
  for (const one of news) announce(ctx, one)
  return result
}

const CONSTRAINTS: Readonly<Record<string, Refusal>> = {
  contacts_attributes_size: invalid([
    { path: 'custom_attributes', message: 'too large together with those that are stored' },
  ]),
  contacts_email_key: refuse('CONFLICT', 'Another contact has this address.'),
}

/** What the store refuses by name is an answer; the rest is not ours. */
function explain(error: unknown): Refusal {
  const name = error instanceof Error && 'constraint' in error ? String(error.constraint) : ''
  const refusal = CONSTRAINTS[name]
  if (refusal === undefined) throw error
  return refusal
}
