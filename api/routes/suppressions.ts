/**
 * The suppression list of a workspace: addresses that receive no mail, each with its cause. Adding a listed address
 * keeps its cause unless the new one is stronger. Removing an address lets mail through again, also mail that
 * waits. `suppression-files.ts` imports and exports the list. A request names an address in the path, by `?email=`
 * or in the body; a list of addresses is added as a whole or not at all.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseAddress } from '#src/mail/address.ts'
import { CAUSE_KINDS, CAUSES, type CauseKind, type NewSuppression } from '#src/suppression/cause.ts'
import { MAX_REASON } from '#src/suppression/import.ts'
import { findSuppressions, listSuppressions, type SuppressionFilter } from '#src/suppression/list.ts'
import { suppress, type Removal, unsuppress } from '#src/suppression/suppress.ts'
import type { ApiContext } from '#api/http/context.ts'
import { mapPage, onlyPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp, pagedList } from '#api/http/response-schemas.ts'
import { time } from '#api/http/time-fields.ts'
import { presentSuppression } from './suppression-view.ts'
import { countText } from '#src/platform/plural.ts'

export const ACCESS = { admin: 'suppressions:manage' } as const
const MAX_ADDED = 1000
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const addressField = z
  .string()
  .max(1000, 'is too long')
  .transform((text, sink) => {
    const parsed = parseAddress(text.trim())
    if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
    return parsed.ok ? parsed.address.address : z.NEVER
  })
const kindField = z
  .enum(CAUSE_KINDS)
  .meta({ description: CAUSE_KINDS.map((kind) => `${kind}: ${CAUSES[kind].meaning}`).join(' ') })
const reasonField = z.string().max(MAX_REASON, `at most ${MAX_REASON} characters`).nullish()
const entryFields = z.object({
  email: addressField.optional(),
  address: addressField.optional().meta(aliasOf('email')),
  reason: reasonField,
  kind: kindField.nullish(),
  type: kindField.nullish().meta(aliasOf('kind')),
})
type EntryInput = z.output<typeof entryFields>
interface SuppressionInput {
  readonly address: string
  readonly reason: string | null
  readonly kind: CauseKind
}
const toSuppressionInput = (given: EntryInput, name: string): SuppressionInput => ({
  address: name,
  reason: given.reason ?? null,
  kind: given.kind ?? given.type ?? 'manual',
})

const namedEntry = entryFields.refine((one) => (one.email ?? one.address) !== undefined, {
  path: ['email'],
  message: 'is required',
})
const listItem = z.union([addressField, namedEntry])
const itemList = z
  .array(listItem)
  .min(1, 'is empty')
  .max(MAX_ADDED, `at most ${MAX_ADDED} per request; import a file instead`)
  .optional()
const listFields = {
  suppressions: itemList,
  emails: itemList.meta(aliasOf('suppressions')),
  addresses: itemList.meta(aliasOf('suppressions')),
}

const addBody = entryFields
  .extend(listFields)
  .transform((given, sink): readonly SuppressionInput[] => {
    const one = given.email ?? given.address
    const many = given.suppressions ?? given.emails ?? given.addresses ?? []
    if (one === undefined && many.length === 0)
      sink.addIssue({ code: 'custom', path: ['email'], message: 'is required' })
    const inputs = many.map((item) =>
      typeof item === 'string'
        ? toSuppressionInput(given, item)
        : toSuppressionInput(item, item.email ?? item.address ?? ''),
    )
    return one === undefined ? inputs : [toSuppressionInput(given, one), ...inputs]
  })
  .meta({ examples: [{ email: 'anna@example.org', reason: 'asked by phone' }] })

const addressFields = { email: addressField.optional(), address: addressField.optional().meta(aliasOf('email')) }
const byName = z.object(addressFields)
const removalReason = { reason: reasonField.meta({ description: 'why; it is in the audit log and in the history' }) }
const removeBody = entryFields.extend(listFields).transform((given): readonly Removal[] => {
  const reason = given.reason ?? null
  return [given.email ?? given.address, ...(given.suppressions ?? given.emails ?? given.addresses ?? [])].flatMap(
    (item) => {
      if (item === undefined) return []
      if (typeof item === 'string') return [{ address: item, reason }]
      return [{ address: item.email ?? item.address ?? '', reason: item.reason ?? reason }]
    },
  )
})

/** The filters of the list and the export. */
export const suppressionFilters = z.object({
  search: z.string().max(254, 'is too long').optional().meta({ description: 'the beginning of the address' }),
  prefix: z.string().max(254, 'is too long').optional().meta(aliasOf('search')),
  kind: kindField.optional(),
  cause: kindField.optional().meta(aliasOf('kind')),
  type: kindField.optional().meta(aliasOf('kind')),
  after: time.optional().meta({ description: 'listed at or after this time' }),
  from: time.optional().meta(aliasOf('after')),
  before: time.optional(),
  to: time.optional().meta(aliasOf('before')),
})

export function suppressionFilterOf(query: z.output<typeof suppressionFilters>): SuppressionFilter {
  return {
    prefix: query.search ?? query.prefix ?? null,
    kind: query.kind ?? query.cause ?? query.type ?? null,
    after: query.after ?? query.from ?? null,
    before: query.before ?? query.to ?? null,
  }
}

const nullableText = z.string().nullable()
const suppressionSchema = z
  .object({
    email: z.string(),
    address: z.string(),
    kind: kindField,
    cause: z.string(),
    reason: z.string(),
    reply: z.object({ code: z.int().nullable(), status: nullableText, text: z.string() }).nullable(),
    rule: nullableText,
    event_id: nullableText,
    message_id: nullableText,
    api_key_id: nullableText,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Suppression' })
const count = z.int().min(0)
const suppressionResponse = envelope(suppressionSchema)

const add = route({
  name: 'add-suppressions',
  summary: 'Suppress an address, or up to 1000 addresses',
  method: 'POST',
  paths: ['/public/suppressions'],
  access: ACCESS,
  body: addBody,
  status: 201,
  errors: [],
  response: envelope(
    z.object({ added: count, strengthened: count, unchanged: count, suppressions: z.array(suppressionSchema) }),
  ),
  handle: async (ctx, { caller, body }) => {
    const entries = body.map((one): NewSuppression => ({
      ...one,
      workspaceId: caller.workspaceId,
      apiKeyId: caller.keyId,
    }))
    const counts = await suppress(ctx.db, entries, new Date(ctx.clock.now()))
    const stored = await findSuppressions(
      ctx.db,
      caller.workspaceId,
      body.map((one) => one.address),
    )
    const data = { ...counts, suppressions: stored.map(presentSuppression) }
    return {
      body: {
        success: true,
        message: `${counts.added} added, ${counts.unchanged + counts.strengthened} already listed.`,
        data,
      },
    }
  },
})

const listAll = route({
  name: 'list-suppressions',
  summary: 'List the suppressed addresses, newest first',
  method: 'GET',
  paths: ['/public/suppressions'],
  access: ACCESS,
  query: paging.extend(suppressionFilters.shape).extend(addressFields),
  status: 200,
  errors: [],
  response: pagedList('suppressions', suppressionSchema),
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'list-suppressions', request)
    if (isRefusal(page)) return page
    const one = query.email ?? query.address
    const found =
      one === undefined
        ? await listSuppressions(ctx.db, caller.workspaceId, suppressionFilterOf(query), page)
        : onlyPage(await findSuppressions(ctx.db, caller.workspaceId, [one]), page)
    const data = pageData('suppressions', mapPage(found, presentSuppression), page)
    return {
      body: {
        success: true,
        message: `${countText(found.total, 'suppressed address', 'suppressed addresses')}.`,
        data,
      },
    }
  },
})

const get = route({
  name: 'get-suppression',
  summary: 'Get a suppressed address with its cause',
  method: 'GET',
  paths: ['/public/suppressions/:email'],
  access: ACCESS,
  params: z.object({ email: addressField }),
  status: 200,
  errors: ['NOT_FOUND'],
  response: suppressionResponse,
  handle: (ctx, { caller, params }) => respondWithSuppression(ctx, caller.workspaceId, params.email),
})

const removal = envelope(z.object({ removed: count }))
const remove = route({
  name: 'delete-suppression',
  summary: 'Remove an address from the suppression list: it receives mail again',
  method: 'DELETE',
  paths: ['/public/suppressions/:email'],
  access: ACCESS,
  params: z.object({ email: addressField }),
  query: z.object(removalReason),
  status: 200,
  errors: ['NOT_FOUND'],
  response: removal,
  handle: (ctx, { caller, params, query }) =>
    removeFromList(ctx, caller.workspaceId, [{ address: params.email, reason: query.reason ?? null }]),
})
const removeByName = route({
  name: 'delete-suppressions',
  summary: 'Remove the address in ?email= or the body from the suppression list, or up to 1000 addresses in the body',
  method: 'DELETE',
  paths: ['/public/suppressions'],
  access: ACCESS,
  query: byName.extend(removalReason),
  body: removeBody,
  status: 200,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  response: removal,
  handle: (ctx, { caller, query, body }) => {
    const one = query.email ?? query.address
    const reason = query.reason ?? null
    return removeFromList(ctx, caller.workspaceId, one === undefined ? body : [{ address: one, reason }, ...body])
  },
})

export const SUPPRESSION_ROUTES: readonly AnyRoute[] = [add, listAll, get, remove, removeByName]

const NOT_LISTED = refuse('NOT_FOUND', 'The address is not on the suppression list. List it with list-suppressions.')

async function respondWithSuppression(
  ctx: ApiContext,
  workspaceId: string,
  name: string,
): Promise<ApiResponse | Refusal> {
  const [suppression] = await findSuppressions(ctx.db, workspaceId, [name])
  if (suppression === undefined) return NOT_LISTED
  return {
    body: { success: true, message: `${suppression.address} is suppressed.`, data: presentSuppression(suppression) },
  }
}

async function removeFromList(
  ctx: ApiContext,
  workspaceId: string,
  removals: readonly Removal[],
): Promise<ApiResponse | Refusal> {
  if (removals.length === 0) return invalid([{ path: 'email', message: 'is required' }])
  const removed = await unsuppress(ctx.db, workspaceId, removals)
  if (removed.length === 0) return NOT_LISTED
  return {
    body: {
      success: true,
      message: `${removed.length} removed from the suppression list.`,
      data: { removed: removed.length },
    },
  }
}
