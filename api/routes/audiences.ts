/**
 * Audiences: list, get, create, update and delete them. Responses have the fields of both variants of the
 * specification. A delete returns immediately; the worker removes the contacts afterwards. An audience of another
 * workspace is not found.
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
import { audienceResponse, audiencesResponse, presentAudience } from './audience-pages.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { sortBy, sortDir } from '#api/http/sorting.ts'

const ACCESS = { admin: 'audiences:manage' } as const
const MAX_NAME = 255
const MAX_DESCRIPTION = 2000

export const NO_AUDIENCE = refuse('NOT_FOUND', 'There is no such audience. List them with get-audiences.')

const byId = z.object({ id: z.string({ error: 'is required' }).min(1, 'is required') })
const sort = sortBy(AUDIENCE_SORTS, 'createdAt')
const direction = sortDir('desc')
const listQuery = paging
  .extend({
    sortBy: sort,
    sortDir: direction,
  })
  .transform(({ sortBy: by, sortDir: way, ...rest }) => ({ ...rest, sort: by, direction: way }))

/** One line of text without control characters. */
const nameField = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_NAME, `at most ${MAX_NAME} characters`)
  .regex(/^\P{Cc}*$/u, 'has control characters')
const descriptionField = z.string().trim().max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`).nullish()
const doubleOptInField = z.boolean().nullish()
const aliasOf = (of: string): { description: string } => ({ description: `alias of ${of}` })
const settingFields = {
  description: descriptionField,
  double_opt_in: doubleOptInField.meta({ description: 'subscribers of the form confirm by a link in a mail' }),
  doubleOptIn: doubleOptInField.meta(aliasOf('double_opt_in')),
}
const createBody = z
  .object({ name: nameField, ...settingFields })
  .transform((given) => ({
    name: given.name,
    description: given.description || null,
    isDoubleOptIn: given.double_opt_in ?? given.doubleOptIn ?? false,
  }))
  .meta({ examples: [{ name: 'Newsletter' }] })
const changeBody = z.object({ name: nameField.nullish(), ...settingFields }).transform((given) => ({
  name: given.name ?? undefined,
  description: given.description === '' ? null : given.description,
  isDoubleOptIn: given.double_opt_in ?? given.doubleOptIn ?? undefined,
}))

const list = route({
  name: 'get-audiences',
  summary: 'List the audiences of the workspace',
  method: 'GET',
  paths: ['/public/audiences/get-audiences'],
  access: ACCESS,
  query: listQuery,
  status: 200,
  response: audiencesResponse,
  errors: [],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'get-audiences', request)
    if (isRefusal(page)) return page
    return { body: await ctx.audiencePages(caller.workspaceId, { ...query, ...page }) }
  },
})

const get = route({
  name: 'get-audience',
  summary: 'Get an audience',
  method: 'GET',
  paths: ['/public/audiences/get-audience'],
  access: ACCESS,
  query: byId,
  status: 200,
  response: audienceResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query }) => {
    const found = isUuid(query.id) ? await findAudience(ctx.db, caller.workspaceId, query.id) : null
    return found === null ? NO_AUDIENCE : respondWithAudience(ctx, 'Audience found.', found)
  },
})

const add = route({
  name: 'add-audience',
  summary: 'Create an audience; its signup form works immediately',
  method: 'POST',
  paths: ['/public/audiences/add-audience'],
  access: ACCESS,
  body: createBody,
  status: 201,
  response: audienceResponse,
  errors: [],
  handle: async (ctx, { caller, body }) => {
    const created = await createAudience(ctx.db, caller.workspaceId, body, new Date(ctx.clock.now()))
    return respondWithAudience(ctx, 'Audience created.', created)
  },
})

const update = route({
  name: 'update-audience',
  summary: 'Update the name, description or double opt-in of an audience; omitted fields are not changed',
  method: 'PATCH',
  paths: ['/public/audiences/update-audience'],
  access: ACCESS,
  query: byId,
  body: changeBody,
  status: 200,
  response: audienceResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query, body }) => {
    const changed = isUuid(query.id) ? await updateAudience(ctx.db, caller.workspaceId, query.id, body) : null
    return changed === null ? NO_AUDIENCE : respondWithAudience(ctx, 'Audience updated.', changed)
  },
})

const remove = route({
  name: 'delete-audience',
  summary: 'Delete an audience and, permanently, the contacts that are in no other audience',
  method: 'DELETE',
  paths: ['/public/audiences/delete-audience'],
  access: ACCESS,
  query: byId,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query }): Promise<ApiResponse | Refusal> =>
    isUuid(query.id) && (await deleteAudience(ctx.db, caller.workspaceId, query.id)) ? {} : NO_AUDIENCE,
})

export const AUDIENCE_ROUTES: readonly AnyRoute[] = [list, get, add, update, remove]

function respondWithAudience(ctx: ApiContext, message: string, found: Audience): ApiResponse {
  return { body: { success: true, message, data: presentAudience(ctx.config, found) } }
}
