/**
 * Audiences: listed, read, made, changed, deleted. Answers are the superset of both variants of the specification. Deleting answers at
 * once; the worker clears what is left. Another workspace's audience is not there.
 */
import { z } from 'zod'
import {
  AUDIENCE_SORTS,
  createAudience,
  deleteAudience,
  findAudience,
  updateAudience,
  type Audience,
} from '#src/contacts/audiences.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { audienceAnswer, audiencesAnswer, presentAudience } from './audience-pages.ts'
import type { ApiContext } from '#api/http/context.ts'
import { paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { sortBy, sortDir } from '#api/http/sorting.ts'

const ACCESS = { admin: 'audiences:manage' } as const
const MAX_NAME = 255
const MAX_DESCRIPTION = 2000

export const NO_AUDIENCE = refuse('NOT_FOUND', 'There is no such audience.')

const byId = z.object({ id: z.string({ error: 'is required' }).min(1, 'is required') })
const sort = sortBy(AUDIENCE_SORTS, 'createdAt')
const direction = sortDir('desc')
const listQuery = paging
  .extend({
    sortBy: sort,
    sortDir: direction,
  })
  .transform((given) => ({ page: given.page, limit: given.limit, sort: given.sortBy, direction: given.sortDir }))

/** One line of text; what cannot be seen has no place in it. */
const name = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_NAME, `at most ${MAX_NAME} characters`)
  .regex(/^\P{Cc}*$/u, 'has control characters')
const description = z.string().trim().max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`).nullish()
const isDoubleOptIn = z.boolean().nullish()
const aliasOf = (of: string): { description: string } => ({ description: `alias of ${of}` })
const settings = {
  description,
  double_opt_in: isDoubleOptIn.meta({ description: 'who subscribes by the form confirms by a link in a mail' }),
  doubleOptIn: isDoubleOptIn.meta(aliasOf('double_opt_in')),
}
const createBody = z
  .object({ name, ...settings })
  .transform((given) => ({
    name: given.name,
    description: given.description || null,
    isDoubleOptIn: given.double_opt_in ?? given.doubleOptIn ?? false,
  }))
  .meta({ examples: [{ name: 'Newsletter' }] })
const changeBody = z.object({ name: name.nullish(), ...settings }).transform((given) => ({
  name: given.name ?? undefined,
  description: given.description === '' ? null : given.description,
  isDoubleOptIn: given.double_opt_in ?? given.doubleOptIn ?? undefined,
}))

const list = route({
  name: 'get-audiences',
  summary: 'The audiences of the workspace',
  method: 'GET',
  paths: ['/public/audiences/get-audiences'],
  access: ACCESS,
  query: listQuery,
  status: 200,
  answer: audiencesAnswer,
  errors: [],
  handle: async (ctx, { caller, query }) => ({ body: await ctx.audiencePages(caller.workspaceId, query) }),
})

const get = route({
  name: 'get-audience',
  summary: 'One audience',
  method: 'GET',
  paths: ['/public/audiences/get-audience'],
  access: ACCESS,
  query: byId,
  status: 200,
  answer: audienceAnswer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query }) => {
    const found = isUuid(query.id) ? await findAudience(ctx.db, caller.workspaceId, query.id) : null
    return found === null ? NO_AUDIENCE : show(ctx, 'Audience found.', found)
  },
})

const add = route({
  name: 'add-audience',
  summary: 'Make an audience; its subscribe form works at once',
  method: 'POST',
  paths: ['/public/audiences/add-audience'],
  access: ACCESS,
  body: createBody,
  status: 201,
  answer: audienceAnswer,
  errors: [],
  handle: async (ctx, { caller, body }) => {
    const made = await createAudience(ctx.db, caller.workspaceId, body, new Date(ctx.clock.now()))
    return show(ctx, 'Audience created.', made)
  },
})

const update = route({
  name: 'update-audience',
  summary: 'Change name, description or the confirmation of subscribers; what is left out stays',
  method: 'PATCH',
  paths: ['/public/audiences/update-audience'],
  access: ACCESS,
  query: byId,
  body: changeBody,
  status: 200,
  answer: audienceAnswer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query, body }) => {
    const changed = isUuid(query.id) ? await updateAudience(ctx.db, caller.workspaceId, query.id, body) : null
    return changed === null ? NO_AUDIENCE : show(ctx, 'Audience changed.', changed)
  },
})

const remove = route({
  name: 'delete-audience',
  summary: 'Delete an audience and, for good, the contacts that are in no other one',
  method: 'DELETE',
  paths: ['/public/audiences/delete-audience'],
  access: ACCESS,
  query: byId,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query }): Promise<Answer | Refusal> =>
    isUuid(query.id) && (await deleteAudience(ctx.db, caller.workspaceId, query.id)) ? {} : NO_AUDIENCE,
})

export const AUDIENCE_ROUTES: readonly AnyRoute[] = [list, get, add, update, remove]

function show(ctx: ApiContext, message: string, found: Audience): Answer {
  return { body: { success: true, message, data: presentAudience(ctx.config, found) } }
}
