/**
 * The history of a contact, newest first, by cursor: messages, opens, clicks, bounces, complaints, joins and leaves,
 * and changes of attributes. A contact of another workspace is not found.
 */
import { z } from 'zod'
import { HISTORY_TYPES, readHistory, type HistoryItem, type HistoryWindows } from '#src/contacts/contact-history.ts'
import { listWindows, splitByAge } from '#src/messages/search-windows.ts'
import { hexOf } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { contactNameFields, isWellFormed, NO_CONTACT, readContactName } from './contacts.ts'

const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const itemSchema = z
  .object({
    id: z.string().meta({ description: 'the id of the message, the event or the change' }),
    type: z.enum(HISTORY_TYPES).meta({
      description: '`message`: a message to the contact; `contact.changed`: changed attributes; the others are events',
    }),
    at: timestamp.meta({ description: 'when it happened; of a message when it was accepted' }),
    email_id: z.string().nullable().meta({ description: 'the message that it is about; null: none' }),
    subject: z.string().nullable().meta({ description: 'of a message: its subject' }),
    status: z.string().nullable().meta({ description: 'of a message: the state of this recipient' }),
    campaign_id: z.uuid().nullable().meta({ description: 'of a message: its campaign' }),
    audience_id: z.string().nullable().meta({ description: 'of a join or leave: the audience' }),
    url: z.string().nullable().meta({ description: 'of a click: the link' }),
    is_machine: z.boolean().meta({ description: 'an open or click by a scanner or proxy, not by the person' }),
    changes: z
      .array(
        z.object({
          field: z.string().meta({ description: 'the field, or `custom_attributes.` and the name of the attribute' }),
          from: z.unknown().meta({ description: 'the value before; null: none' }),
          to: z.unknown().meta({ description: 'the value after; null: none' }),
        }),
      )
      .nullable()
      .meta({ description: 'of `contact.changed`: what changed' }),
  })
  .meta({ id: 'ContactHistoryItem' })

const history = route({
  name: 'get-contact-history',
  summary: 'Get what happened with a contact, newest first',
  description:
    'Messages and events are in it as long as they are stored, changes of attributes for a year. The subjects of ' +
    'messages are included. Mail to an earlier address of the contact is not.',
  method: 'GET',
  paths: ['/public/contacts/get-contact-history'],
  access: { admin: 'contacts:read' },
  query: contactNameFields.extend(paging.omit({ page: true }).shape).transform((given, sink) => ({
    contact: readContactName(given, sink),
    limit: given.limit,
    cursor: given.cursor ?? '', // without a cursor it is the first page, which has one, too
  })),
  status: 200,
  response: envelope(
    z.object({ history: z.array(itemSchema).meta({ description: 'what happened, newest first' }), ...nextCursorField }),
  ),
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const { workspaceId } = caller
    const page = openPage(ctx, 'get-contact-history', request)
    if (isRefusal(page)) return page
    const { contact: named } = query
    const contact = isWellFormed(named)
      ? await ctx.contacts.find({ workspaceId, contact: named, audienceId: null })
      : null
    if (contact === null) return NO_CONTACT
    const [key = null] = page.at?.key ?? []
    const windows = await windowsBefore(ctx, key)
    const { id: contactId, email } = contact
    const found = await readHistory(ctx.db, { workspaceId, contactId, email, limit: query.limit + 1 }, windows)
    const items = found.slice(0, query.limit)
    const last = found.length > query.limit ? items.at(-1) : undefined
    const next = last === undefined ? null : { key: [last.id], before: 0, total: 0 }
    const subjects = await ctx.subjects.render(
      items.flatMap(({ id, subject }) => (subject === null ? [] : [{ id, subject }])),
    )
    const shown = items.map((one) => present({ ...one, subject: subjects.get(one.id) ?? one.subject }))
    const data = { history: shown, ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'entry', 'entries')}.`, data } }
  },
})

export const CONTACT_HISTORY_ROUTES: readonly AnyRoute[] = [history]

/** The windows of stored mail, and one more for changes that are older. */
async function windowsBefore(
  { db, clock }: Pick<ApiContext, 'db' | 'clock'>,
  cursor: string | null,
): Promise<HistoryWindows> {
  const now = clock.now()
  const windows = await listWindows(db, { fromMs: null, toMs: null, cursor }, now)
  const end = windows.at(-1)?.from ?? cursor ?? LAST_ID
  return splitByAge([...windows, { from: FIRST_ID, to: end }], now)
}

function present({ id, type, at, messageId, subject, state, campaignId, data, changes }: HistoryItem): object {
  const textOf = (name: string): string | null => {
    const value = data?.[name]
    return typeof value === 'string' ? value : null
  }
  return {
    id: type === 'message' ? `em_${hexOf(id)}` : id,
    type,
    at: at.toISOString(),
    email_id: messageId === null ? null : `em_${hexOf(messageId)}`,
    subject,
    status: state,
    campaign_id: campaignId,
    audience_id: textOf('audience_id'),
    url: textOf('url'),
    is_machine: data?.['machine'] === true,
    changes,
  }
}
