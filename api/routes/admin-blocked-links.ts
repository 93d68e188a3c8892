/**
 * Links that the operator blocked: a link from a mail, a URL that links lead to, a host, or one hosted mail. The
 * command line has the same: `mailstead link`.
 */
import { z } from 'zod'
import { invalid, refuse } from '#src/platform/errors.ts'
import { timeOf } from '#src/platform/id.ts'
import {
  BLOCKABLE,
  blockLink,
  readBlockedLinks,
  readBlockable,
  unblockLink,
  type BlockedLink,
} from '#src/tracking/blocked-links.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, nextCursorField, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { operatorName } from './admin-queue.ts'
import { countText } from '#src/platform/plural.ts'

const blockedLinkSchema = z
  .object({
    id: z.uuid(),
    kind: z.enum(BLOCKABLE).meta({
      description: '`url`: links that lead to this URL; `host`: to any URL at this host; `mail`: a hosted mail',
    }),
    subject: z.string(),
    reason: z.string(),
    blocked_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'BlockedLink' })

const link = z.string().min(1, 'is empty').max(8192, 'is too long').meta({
  description: 'a link from a mail (tracked, or "view in browser"), the URL that it leads to, or a host name',
})
const NOT_A_LINK = invalid([{ path: 'link', message: 'must be a link, a URL or a host name' }])

const list = route({
  name: 'admin-list-blocked-links',
  summary: 'List the blocked links, newest first',
  method: 'GET',
  paths: ['/admin/blocked-links'],
  access: 'operator',
  query: paging.omit({ page: true }),
  status: 200,
  response: envelope(z.object({ links: z.array(blockedLinkSchema), ...nextCursorField })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-blocked-links', request)
    if (isRefusal(page)) return page
    const { items, next } = await readBlockedLinks(ctx.db, page)
    const data = { links: items.map(present), ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'blocked link')}.`, data } }
  },
})

const block = route({
  name: 'admin-block-link',
  summary: 'Block a link: it shows a page instead of its target, in all mail, within 5 seconds',
  method: 'POST',
  paths: ['/admin/blocked-links'],
  access: 'operator',
  body: z.object({ link, reason: z.string().trim().max(500, 'is too long').default('blocked by the operator') }),
  status: 200,
  response: envelope(blockedLinkSchema),
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
  handle: async (ctx, { body, headers, address, person }) => {
    const target = readBlockable(body.link)
    if (target === null) return NOT_A_LINK
    const blockedBy = operatorName({ headers, address, person })
    const blocked = await blockLink(ctx.db, { ...target, reason: body.reason, blockedBy })
    if (blocked === null)
      return refuse('CONFLICT', 'Too many links are blocked. Block their hosts, and unblock the links.')
    await ctx.linkPolicy.blocked.refresh()
    return { body: { success: true, message: `${blocked.subject} is blocked.`, data: present(blocked) } }
  },
})

const unblock = route({
  name: 'admin-unblock-link',
  summary: 'Unblock a link',
  description: 'Name the link in the query or in the body.',
  method: 'DELETE',
  paths: ['/admin/blocked-links'],
  access: 'operator',
  query: z.object({ link: link.optional() }),
  body: z.object({ link: link.optional() }).default({}),
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { query, body }) => {
    const target = readBlockable(query.link ?? body.link ?? '')
    if (target === null) return NOT_A_LINK
    if (!(await unblockLink(ctx.db, target)))
      return refuse('NOT_FOUND', 'This link is not blocked. List the blocked ones with admin-list-blocked-links.')
    await ctx.linkPolicy.blocked.refresh()
    return { body: { success: true, message: `${target.subject} works again.` } }
  },
})

function present({ id, kind, subject, reason, blockedBy }: BlockedLink): Record<string, unknown> {
  return { id, kind, subject, reason, blocked_by: blockedBy, created_at: new Date(timeOf(id)).toISOString() }
}

export const ADMIN_BLOCKED_LINK_ROUTES: readonly AnyRoute[] = [list, block, unblock]
