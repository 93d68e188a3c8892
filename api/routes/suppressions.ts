/**
 * The suppression list of a workspace: addresses that get nothing, each with its cause. Adding one that is there keeps its cause unless the
 * new one is stronger; taking one off lets mail through again, to what waits too. Files of them are `suppression-files.ts`.
 * An address is named in the path, by `?email=` or in the body; a list that is added is taken as a whole or not at all.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { CAUSE_KINDS, CAUSES, type CauseKind, type Suppressing } from '#src/suppression/cause.ts'
import { MAX_REASON } from '#src/suppression/import.ts'
import { findSuppressions, listSuppressions, type ListFilter, type Suppression } from '#src/suppression/list.ts'
import { suppress, unsuppress } from '#src/suppression/suppress.ts'
import type { ApiContext } from '#api/http/context.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'
import { time } from '#api/http/time-fields.ts'

export const ACCESS = { admin: 'suppressions:manage' } as const
const MAX_ADDED = 1000
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const address = z
  .string()
  .max(1000, 'is too long')
  .transform((text, sink) => {
    const parsed = parseAddress(text.trim())
    if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
    return parsed.ok ? parsed.address.address : z.NEVER
  })
const kinds = z
  .enum(CAUSE_KINDS)
  .meta({ description: CAUSE_KINDS.map((kind) => `${kind}: ${CAUSES[kind].meaning}`).join(' ') })
const reason = z.string().max(MAX_REASON, `at most ${MAX_REASON} characters`).nullish()
const entry = z.object({
  email: address.optional(),
  address: address.optional().meta(aliasOf('email')),
  reason,
  kind: kinds.nullish(),
  type: kinds.nullish().meta(aliasOf('kind')),
})
type EntryInput = z.output<typeof entry>
interface Wanted {
  readonly address: string
  readonly reason: string | null
  readonly kind: CauseKind
}
const wantedOf = (given: EntryInput, name: string): Wanted => ({
  address: name,
  reason: given.reason ?? null,
  kind: given.kind ?? given.type ?? 'manual',
})

const named = entry.refine((one) => (one.email ?? one.address) !== undefined, {
  path: ['email'],
  message: 'is required',
})
const listed = z.union([address, named])
const list = z
  .array(listed)
  .min(1, 'is empty')
  .max(MAX_ADDED, `at most ${MAX_ADDED} at once; import a file instead`)
  .optional()
const lists = {
  suppressions: list,
  emails: list.meta(aliasOf('suppressions')),
  addresses: list.meta(aliasOf('suppressions')),
}

const addBody = entry
  .extend(lists)
  .transform((given, sink): readonly Wanted[] => {
    const one = given.email ?? given.address
    const many = given.suppressions ?? given.emails ?? given.addresses ?? []
    if (one === undefined && many.length === 0)
      sink.addIssue({ code: 'custom', path: ['email'], message: 'is required' })
    const wanted = many.map((item) =>
      typeof item === 'string' ? wantedOf(given, item) : wantedOf(item, item.email ?? item.address ?? ''),
    )
    return one === undefined ? wanted : [wantedOf(given, one), ...wanted]
  })
  .meta({ examples: [{ email: 'anna@example.org', reason: 'asked by phone' }] })

const nameOne = { email: address.optional(), address: address.optional().meta(aliasOf('email')) }
const byName = z.object(nameOne)
const removeBody = entry
  .extend(lists)
  .transform((given): readonly string[] =>
    [given.email ?? given.address, ...(given.suppressions ?? given.emails ?? given.addresses ?? [])].flatMap((item) =>
      item === undefined ? [] : typeof item === 'string' ? [item] : [item.email ?? item.address ?? ''],
    ),
  )

/** What a list or an export is narrowed by. */
export const filters = z.object({
  search: z.string().max(254, 'is too long').optional().meta({ description: 'what the address begins with' }),
  prefix: z.string().max(254, 'is too long').optional().meta(aliasOf('search')),
  kind: kinds.optional(),
  cause: kinds.optional().meta(aliasOf('kind')),
  type: kinds.optional().meta(aliasOf('kind')),
  after: time.optional().meta({ description: 'on the list since then' }),
  from: time.optional().meta(aliasOf('after')),
  before: time.optional(),
  to: time.optional().meta(aliasOf('before')),
})

export function filterOf(query: z.output<typeof filters>): ListFilter {
  return {
    prefix: query.search ?? query.prefix ?? null,
    kind: query.kind ?? query.cause ?? query.type ?? null,
    after: query.after ?? query.from ?? null,
    before: query.before ?? query.to ?? null,
  }
}

const text = z.string().nullable()
const shape = z
  .object({
    email: z.string(),
    address: z.string(),
    kind: kinds,
    cause: z.string(),
    reason: z.string(),
    reply: z.object({ code: z.int().nullable(), status: text, text: z.string() }).nullable(),
    rule: text,
    event_id: text,
    message_id: text,
    api_key_id: text,
    created_at: moment,
    updated_at: moment,
  })
  .meta({ id: 'Suppression' })
const count = z.int().min(0)
const oneAnswer = enveloped(shape)

const add = route({
  name: 'add-suppressions',
  summary: 'Suppress one address, or up to 1000',
  method: 'POST',
  paths: ['/public/suppressions'],
  access: ACCESS,
  body: addBody,
  status: 201,
  errors: [],
  answer: enveloped(z.object({ added: count, strengthened: count, unchanged: count, suppressions: z.array(shape) })),
  handle: async (ctx, { caller, body }) => {
    const entries = body.map((one): Suppressing => ({
      ...one,
      workspaceId: caller.workspaceId,
      apiKeyId: caller.keyId,
    }))
    const done = await suppress(ctx.db, entries, new Date(ctx.clock.now()))
    const now = await findSuppressions(
      ctx.db,
      caller.workspaceId,
      body.map((one) => one.address),
    )
    const data = { ...done, suppressions: now.map(present) }
    return {
      body: {
        success: true,
        message: `${done.added} added, ${done.unchanged + done.strengthened} were on the list.`,
        data,
      },
    }
  },
})

const listAll = route({
  name: 'list-suppressions',
  summary: 'Suppressed addresses, the newest first',
  method: 'GET',
  paths: ['/public/suppressions'],
  access: ACCESS,
  query: paging.extend(filters.shape).extend(nameOne),
  status: 200,
  errors: [],
  answer: pageOf('suppressions', shape),
  handle: async (ctx, { caller, query }) => {
    const one = query.email ?? query.address
    const found =
      one === undefined
        ? await listSuppressions(ctx.db, caller.workspaceId, filterOf(query), query)
        : await findSuppressions(ctx.db, caller.workspaceId, [one]).then((suppressions) => ({
            suppressions,
            total: suppressions.length,
          }))
    const data = pageData('suppressions', { items: found.suppressions.map(present), total: found.total }, query)
    return { body: { success: true, message: `${found.total} suppressed addresses.`, data } }
  },
})

const get = route({
  name: 'get-suppression',
  summary: 'One suppressed address with its whole cause',
  method: 'GET',
  paths: ['/public/suppressions/:email'],
  access: ACCESS,
  params: z.object({ email: address }),
  status: 200,
  errors: ['NOT_FOUND'],
  answer: oneAnswer,
  handle: (ctx, { caller, params }) => show(ctx, caller.workspaceId, params.email),
})

const removal = enveloped(z.object({ removed: count }))
const remove = route({
  name: 'delete-suppression',
  summary: 'Take an address off the list: it gets mail again',
  method: 'DELETE',
  paths: ['/public/suppressions/:email'],
  access: ACCESS,
  params: z.object({ email: address }),
  status: 200,
  errors: ['NOT_FOUND'],
  answer: removal,
  handle: (ctx, { caller, params }) => drop(ctx, caller.workspaceId, [params.email]),
})
const removeByName = route({
  name: 'delete-suppressions',
  summary: 'The same for the address of ?email= or the body, or for up to 1000 in the body',
  method: 'DELETE',
  paths: ['/public/suppressions'],
  access: ACCESS,
  query: byName,
  body: removeBody,
  status: 200,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  answer: removal,
  handle: (ctx, { caller, query, body }) => {
    const one = query.email ?? query.address
    return drop(ctx, caller.workspaceId, one === undefined ? body : [one, ...body])
  },
})

export const SUPPRESSION_ROUTES: readonly AnyRoute[] = [add, listAll, get, remove, removeByName]

const NOT_LISTED = refuse('NOT_FOUND', 'There is no such address on the suppression list.')

async function show(ctx: ApiContext, workspaceId: string, name: string): Promise<Answer | Refusal> {
  const [suppression] = await findSuppressions(ctx.db, workspaceId, [name])
  if (suppression === undefined) return NOT_LISTED
  return { body: { success: true, message: `${suppression.address} is suppressed.`, data: present(suppression) } }
}

async function drop(ctx: ApiContext, workspaceId: string, names: readonly string[]): Promise<Answer | Refusal> {
  if (names.length === 0) return invalid([{ path: 'email', message: 'is required' }])
  const removed = await unsuppress(ctx.db, workspaceId, names)
  if (removed.length === 0) return NOT_LISTED
  return {
    body: { success: true, message: `${removed.length} taken off the list.`, data: { removed: removed.length } },
  }
}

function present(suppression: Suppression): Record<string, unknown> {
  return {
    email: suppression.address,
    address: suppression.address,
    kind: suppression.kind,
    cause: suppression.cause,
    reason: suppression.cause,
    reply: suppression.reply,
    rule: suppression.rule,
    event_id: suppression.eventId,
    message_id: suppression.messageId,
    api_key_id: suppression.apiKeyId,
    created_at: suppression.createdAt.toISOString(),
    updated_at: suppression.updatedAt.toISOString(),
  }
}
