/**
 * Changes many contacts: tags, an audience, an unsubscription, or a deletion. A hundred contacts are one transaction,
 * so a failure leaves whole hundreds changed; the same request again changes the rest. Contacts of another workspace
 * are not found and are counted as missing. As everywhere, no request subscribes an unsubscribed membership again.
 */
import { z } from 'zod'
import { changeContact, deleteContact } from '#src/contacts/change-contact.ts'
import { findAudience } from '#src/contacts/audiences.ts'
import { tagsRule } from '#src/contacts/field-rules.ts'
import { unsubscribe } from '#src/contacts/membership.ts'
import { countText } from '#src/platform/plural.ts'
import { publishNotifications, type CommitNotifications } from '#src/queue/notifications.ts'
import type { Queryable } from '#src/stores/db.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { NO_AUDIENCE } from './audiences.ts'
import { NO_CONTACT } from './contacts.ts'

const MAX_IDS = 1000
const SLICE = 100

const tags = z
  .array(z.string())
  .optional()
  .transform((given, sink): readonly string[] => {
    const read = tagsRule(given ?? [])
    if (read.ok) return read.value
    sink.addIssue({ code: 'custom', message: read.reason })
    return z.NEVER
  })
const flag = z.boolean().optional()
const changeBody = z
  .object({
    ids: z
      .array(z.uuid())
      .min(1, 'is empty')
      .max(MAX_IDS, `at most ${MAX_IDS}`)
      .meta({ description: 'of the contacts' }),
    add_tags: tags.meta({ description: 'tags that each contact gets' }),
    remove_tags: tags.meta({ description: 'tags that each contact loses' }),
    audience_id: z.uuid().nullish().meta({ description: 'the audience that each contact joins' }),
    unsubscribe: flag.meta({ description: 'true: ends the subscription to all audiences' }),
    delete: flag.meta({ description: 'true: deletes the contacts permanently; nothing else is changed' }),
  })
  .transform((given, sink) => {
    const hasChange =
      given.add_tags.length + given.remove_tags.length > 0 ||
      given.audience_id != null ||
      given.unsubscribe === true ||
      given.delete === true
    if (!hasChange) sink.addIssue({ code: 'custom', path: ['add_tags'], message: 'name at least one change' })
    return { ...given, ids: [...new Set(given.ids.map((id) => id.toLowerCase()))].toSorted() }
  })
type Change = z.output<typeof changeBody>

const count = z.int().min(0)
const change = route({
  name: 'change-contacts',
  summary: 'Change up to 1000 contacts: add and remove tags, join an audience, unsubscribe, or delete',
  method: 'POST',
  paths: ['/public/contacts/change-contacts'],
  access: { admin: 'contacts:write' },
  body: changeBody,
  status: 200,
  response: envelope(
    z.object({
      changed: count.meta({ description: 'contacts that were found' }),
      missing: count.meta({ description: 'ids that no contact of the workspace has' }),
    }),
  ),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    const audienceId = body.audience_id ?? null
    if (audienceId !== null && (await findAudience(ctx.db, workspaceId, audienceId)) === null) return NO_AUDIENCE
    const scope = { workspaceId, now: new Date(ctx.clock.now()) }
    let changed = 0
    for (let from = 0; from < body.ids.length; from += SLICE) {
      const notifications: CommitNotifications[] = []
      const counts = await ctx.db.transaction(async (tx) => {
        let done = 0
        for (const id of body.ids.slice(from, from + SLICE))
          if (await apply(tx, { ...scope, notifications }, id, body)) done++
        return done
      })
      changed += counts
      for (const one of notifications) publishNotifications(ctx, one)
    }
    if (changed === 0) return NO_CONTACT
    const missing = body.ids.length - changed
    return { body: { success: true, message: `${countText(changed, 'contact')} changed.`, data: { changed, missing } } }
  },
})

export const CONTACT_BULK_ROUTES: readonly AnyRoute[] = [change]

interface Batch {
  readonly workspaceId: string
  readonly now: Date
  /** Published after the commit. */
  readonly notifications: CommitNotifications[]
}

/** False if there is no such contact. */
async function apply(tx: Queryable, batch: Batch, id: string, wanted: Change): Promise<boolean> {
  const { notifications, ...scope } = batch
  if (wanted.delete === true) return deleteContact(tx, scope.workspaceId, id)
  const { add_tags: addTags, remove_tags: removeTags, audience_id: audienceId } = wanted
  const result = await changeContact(tx, scope, id, {
    addTags,
    removeTags,
    ...(audienceId == null ? {} : { joinAudience: audienceId }),
  })
  if (result.kind !== 'changed') return false
  notifications.push(result.notifications)
  if (wanted.unsubscribe !== true) return true
  const ended = await unsubscribe(tx, { ...scope, audienceId: null }, id)
  if (ended !== null) notifications.push(ended.notifications)
  return true
}
