/**
 * The API keys of the workspace: list, get, change, rotate, revoke. Admin keys are created by people and the operator,
 * never with a key; sending keys by `domain-keys.ts`. A key may revoke itself and every other key of its workspace, but
 * it may rotate or change only keys whose rights it has, because the response contains the new secret.
 */
import { z } from 'zod'
import { createKey } from '#src/auth/keys.ts'
import { resolveKeyPrefix } from '#src/auth/key-prefix.ts'
import { findManagedKey, listManagedKeys, revokeKey, rotateKey } from '#src/auth/managed-keys.ts'
import { refuse } from '#src/platform/errors.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { changeApiKey } from './change-api-key.ts'
import { checkExpiry, keyExpiry, keyName, networkList, scopeList } from './key-fields.ts'
import {
  KEY_ACCESS,
  keyById,
  keyIdOf,
  keyResponse,
  keySchema,
  NO_KEY,
  presentKey,
  refuseKeyChange,
} from './key-view.ts'

const DAY_SECONDS = 24 * 3600
const MAX_OVERLAP_SECONDS = 30 * DAY_SECONDS

const kindFilter = z.enum(['regular', 'admin']).optional()
const createdResponse = envelope(
  z.object({ api_key: keySchema, secret_key: z.string().meta({ description: 'shown only once' }) }),
).meta({ id: 'RotatedApiKeyAnswer' })
const list = route({
  name: 'list-api-keys',
  summary: 'List the API keys of the workspace, the newest first; secrets are never shown',
  method: 'GET',
  paths: ['/public/api-keys'],
  access: KEY_ACCESS,
  query: paging.extend({ type: kindFilter }),
  status: 200,
  response: pagedList('keys', keySchema),
  errors: [],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'list-api-keys', request)
    if (isRefusal(page)) return page
    const found = await listManagedKeys(ctx.db, caller.workspaceId, { ...page, kind: query.type ?? null })
    const items = found.items.map((key) => presentKey(key, caller.keyId, ctx.clock.now()))
    const data = pageData('keys', { ...found, items }, page)
    return { body: { success: true, message: `${found.total} API keys.`, data } }
  },
})

const get = route({
  name: 'get-api-key',
  summary: 'Get an API key without its secret',
  method: 'GET',
  paths: ['/public/api-keys/:id'],
  access: KEY_ACCESS,
  params: keyById,
  status: 200,
  response: keyResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const id = keyIdOf(params.id)
    const found = id === null ? null : await findManagedKey(ctx.db, caller.workspaceId, id)
    if (found === null) return NO_KEY
    return { body: { success: true, message: 'API key.', data: presentKey(found, caller.keyId, ctx.clock.now()) } }
  },
})

const rotateBody = z
  .object({
    overlap_seconds: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_SECONDS, `at most ${MAX_OVERLAP_SECONDS}, which is 30 days`)
      .nullish()
      .meta({ description: 'how long the present secret stays valid; by default a day; 0 ends all earlier ones now' }),
  })
  .meta({ examples: [{ overlap_seconds: 3600 }] })

const rotate = route({
  name: 'rotate-api-key',
  summary: 'Replace the secret of an API key; only this response contains the new one',
  description:
    'Name, scopes, sender and expiry stay. The present secret stays valid for `overlap_seconds`. The caller must ' +
    'have the scopes of the key; for a Regular key, `api-keys:create`.',
  method: 'POST',
  paths: ['/public/api-keys/:id/rotate'],
  access: KEY_ACCESS,
  params: keyById,
  body: rotateBody,
  status: 200,
  response: createdResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'INSUFFICIENT_SCOPE'],
  handle: async (ctx, { caller, params, body }) => {
    const id = keyIdOf(params.id)
    if (id === null) return NO_KEY
    const rotated = await rotateKey(ctx.db, caller, {
      id,
      prefix: await resolveKeyPrefix(ctx.db, ctx.config),
      overlapSeconds: body.overlap_seconds ?? DAY_SECONDS,
      nowMs: ctx.clock.now(),
    })
    if (rotated.kind !== 'rotated') return refuseKeyChange(rotated)
    const key = await findManagedKey(ctx.db, caller.workspaceId, id)
    if (key === null) return NO_KEY
    const data = { api_key: presentKey(key, caller.keyId, ctx.clock.now()), secret_key: rotated.secretKey }
    return { body: { success: true, message: 'New secret created. Store it: it is not shown again.', data } }
  },
})

const revoke = route({
  name: 'revoke-api-key',
  summary: 'Revoke an API key for good, with all its secrets; a repetition has the same result',
  method: 'DELETE',
  paths: ['/public/api-keys/:id'],
  access: KEY_ACCESS,
  params: keyById,
  status: 200,
  response: keyResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const id = keyIdOf(params.id)
    const revoked = id === null ? null : await revokeKey(ctx.db, caller.workspaceId, id)
    if (revoked === null) return NO_KEY
    const data = presentKey(revoked, caller.keyId, ctx.clock.now())
    return { body: { success: true, message: 'API key revoked.', data } }
  },
})

const createAdmin = route({
  name: 'create-admin-key',
  summary: 'Create an Admin key; only this response contains it',
  description: 'Only people create Admin keys, with scopes that their role includes. A workspace has at most 5.',
  method: 'POST',
  paths: ['/public/api-keys'],
  access: 'member',
  body: z.object({
    name: keyName,
    scopes: scopeList,
    expires_at: keyExpiry.nullish().meta({ description: 'without it the key is valid until it is revoked' }),
    allowed_networks: networkList.default([]),
  }),
  status: 201,
  response: createdResponse,
  errors: ['CONFLICT', 'FORBIDDEN'],
  handle: async (ctx, { caller, body }) => {
    const missing = body.scopes.filter((scope) => !caller.scopes.includes(scope))
    if (missing.length > 0)
      return refuse('FORBIDDEN', `Your role does not include ${missing.join(', ')}. Ask an owner of the workspace.`)
    const { expires_at: expiresAt = null } = body
    const expired = checkExpiry(expiresAt, ctx.clock.now())
    if (expired !== null) return expired
    const { workspaceId } = caller
    const prefix = await resolveKeyPrefix(ctx.db, ctx.config)
    const { name, scopes, allowed_networks: allowedNetworks } = body
    const fields = { prefix, workspaceId, name, scopes, expiresAt, allowedNetworks }
    const made = await createKey(ctx.db, { kind: 'admin', ...fields })
    if (made.kind === 'too-many-admin-keys')
      return refuse('CONFLICT', `The workspace has ${made.max} Admin keys. Delete one with revoke-api-key first.`)
    const key = made.kind === 'created' ? await findManagedKey(ctx.db, workspaceId, made.id) : null
    if (made.kind !== 'created' || key === null) return NO_KEY
    const data = { api_key: presentKey(key, null, ctx.clock.now()), secret_key: made.secretKey }
    return { body: { success: true, message: 'Admin key created. Store it: it is not shown again.', data } }
  },
})

export const API_KEY_ROUTES: readonly AnyRoute[] = [createAdmin, list, get, changeApiKey, rotate, revoke]
