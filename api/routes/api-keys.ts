/**
 * The API keys of the workspace: list, get, change, rotate, revoke. Admin keys are created by people and the operator,
 * never with a key; sending keys by `domain-keys.ts`. A key may revoke itself and every other key of its workspace, but
 * it may rotate or change only keys whose rights it has, because the response contains the new secret.
 */
import { z } from 'zod'
import { isAllowedFrom, readNetworks } from '#src/auth/key-networks.ts'
import { createKey } from '#src/auth/keys.ts'
import { ALL_SCOPES, type KeyScope } from '#src/auth/scopes.ts'
import { resolveKeyPrefix } from '#src/auth/key-prefix.ts'
import {
  changeKey,
  findManagedKey,
  listManagedKeys,
  MAX_EARLIER_SECRETS,
  revokeKey,
  rotateKey,
  type ManagedKey,
  type RotateResult,
} from '#src/auth/managed-keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, idOfHex, isUuid } from '#src/platform/id.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { keyName, networkList } from './key-fields.ts'

const ACCESS = { admin: 'api-keys:manage' } as const
const DAY_SECONDS = 24 * 3600
const MAX_OVERLAP_SECONDS = 30 * DAY_SECONDS

const byId = z.object({ id: z.string().meta({ description: 'the uuid, or key_…' }) })
const kindFilter = z.enum(['regular', 'admin']).optional()
const keySchema = z
  .object({
    id: z.uuid(),
    key_id: z.string(),
    object: z.literal('api_key'),
    type: z.enum(['regular', 'admin']),
    name: z.string(),
    scopes: z.array(z.string()).meta({ description: 'of an Admin key' }),
    domain_id: z.uuid().nullable().meta({ description: 'the domain that a Regular key sends for' }),
    domain: z.string().nullable(),
    account_id: z.uuid().nullable().meta({ description: 'the connected account that a Regular key sends through' }),
    status: z.enum(['active', 'expired', 'revoked']),
    is_active: z.boolean(),
    is_current: z.boolean().meta({ description: 'the key of this request' }),
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable(),
    allowed_networks: z
      .array(z.string())
      .meta({ description: 'the networks it may be used from, in CIDR notation; empty: everywhere' }),
    created_at: timestamp,
    earlier_secrets_until: z
      .array(timestamp)
      .meta({ description: 'the ends of earlier secrets that are still valid after a rotation' }),
  })
  .meta({ id: 'ApiKey' })
const keyResponse = envelope(keySchema).meta({ id: 'ApiKeyAnswer' })
const createdResponse = envelope(
  z.object({ api_key: keySchema, secret_key: z.string().meta({ description: 'shown only once' }) }),
).meta({ id: 'RotatedApiKeyAnswer' })
const LOCKS_ITSELF_OUT = refuse(
  'CONFLICT',
  'The networks lack the address of this request, which uses the same key. Send it too, or send force: true.',
)
const NO_KEY = refuse('NOT_FOUND', 'There is no such API key in this workspace. List them with list-api-keys.')

const list = route({
  name: 'list-api-keys',
  summary: 'List the API keys of the workspace, the newest first; secrets are never shown',
  method: 'GET',
  paths: ['/public/api-keys'],
  access: ACCESS,
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
  access: ACCESS,
  params: byId,
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
  access: ACCESS,
  params: byId,
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
    if (rotated.kind !== 'rotated') return refuseRotation(rotated)
    const key = await findManagedKey(ctx.db, caller.workspaceId, id)
    if (key === null) return NO_KEY
    const data = { api_key: presentKey(key, caller.keyId, ctx.clock.now()), secret_key: rotated.secretKey }
    return { body: { success: true, message: 'New secret created. Store it: it is not shown again.', data } }
  },
})

function refuseRotation(result: Exclude<RotateResult, { kind: 'rotated' }>): Refusal {
  if (result.kind === 'not-found') return NO_KEY
  if (result.kind === 'ended') return refuse('CONFLICT', 'The API key is revoked or has expired. Create a new one.')
  if (result.kind === 'too-many-secrets')
    return refuse(
      'CONFLICT',
      `The API key has ${MAX_EARLIER_SECRETS} earlier secrets that are valid. Send overlap_seconds: 0 to end them.`,
    )
  return refuse(
    'INSUFFICIENT_SCOPE',
    `You would get rights that this Admin key lacks: ${result.missing.join(', ')}. Use a key that has them.`,
  )
}

const revoke = route({
  name: 'revoke-api-key',
  summary: 'Revoke an API key for good, with all its secrets; a repetition has the same result',
  method: 'DELETE',
  paths: ['/public/api-keys/:id'],
  access: ACCESS,
  params: byId,
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
    scopes: z.array(z.enum(ALL_SCOPES as [KeyScope, ...KeyScope[]])).min(1, 'name at least one'),
    expires_at: timestamp.nullish().meta({ description: 'without it the key is valid until it is revoked' }),
    allowed_networks: networkList.default([]),
  }),
  status: 201,
  response: createdResponse,
  errors: ['CONFLICT', 'FORBIDDEN'],
  handle: async (ctx, { caller, body }) => {
    const missing = body.scopes.filter((scope) => !caller.scopes.includes(scope))
    if (missing.length > 0)
      return refuse('FORBIDDEN', `Your role does not include ${missing.join(', ')}. Ask an owner of the workspace.`)
    const expiresAt = typeof body.expires_at === 'string' ? new Date(body.expires_at) : null
    if (expiresAt !== null && expiresAt.getTime() <= ctx.clock.now())
      return invalid([{ path: 'expires_at', message: 'must be in the future' }])
    const { workspaceId } = caller
    const prefix = await resolveKeyPrefix(ctx.db, ctx.config)
    const scopes = [...new Set(body.scopes)]
    const { name, allowed_networks: allowedNetworks } = body
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

const changeBody = z
  .object({
    name: keyName.optional(),
    allowed_networks: networkList.optional(),
    force: z
      .boolean()
      .default(false)
      .meta({ description: 'true: also if the key of this request then may not be used from here any more' }),
  })
  .refine((given) => given.name !== undefined || given.allowed_networks !== undefined, {
    error: 'give name or allowed_networks',
  })
  .meta({ examples: [{ allowed_networks: ['192.0.2.0/24', '2001:db8::/32'] }] })

const change = route({
  name: 'change-api-key',
  summary: 'Change the name of an API key, or the networks that it may be used from',
  description:
    'The networks are those of your programs, in CIDR notation; a single address is allowed. An empty list allows ' +
    'all. A request from elsewhere gets 403 FORBIDDEN, and a login by SMTP 535, within a second of the change. The ' +
    'caller must have the scopes of the key; for a Regular key, `api-keys:create`.',
  method: 'PATCH',
  paths: ['/public/api-keys/:id'],
  access: ACCESS,
  params: byId,
  body: changeBody,
  status: 200,
  response: keyResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'INSUFFICIENT_SCOPE', 'VALIDATION_ERROR'],
  handle: async (ctx, { caller, params, body, address }) => {
    const id = keyIdOf(params.id)
    if (id === null) return NO_KEY
    const { name, allowed_networks: allowedNetworks } = body
    const isOwn = id === caller.keyId && allowedNetworks !== undefined
    if (isOwn && !body.force && !isAllowedFrom(readNetworks(allowedNetworks), address)) return LOCKS_ITSELF_OUT
    const result = await changeKey(ctx.db, { workspaceId: caller.workspaceId, caller }, id, { name, allowedNetworks })
    if (result.kind !== 'changed') return refuseRotation(result)
    const key = await findManagedKey(ctx.db, caller.workspaceId, id)
    if (key === null) return NO_KEY
    return {
      body: { success: true, message: 'API key changed.', data: presentKey(key, caller.keyId, ctx.clock.now()) },
    }
  },
})

export const API_KEY_ROUTES: readonly AnyRoute[] = [createAdmin, list, get, change, rotate, revoke]

/** Reads a uuid or `key_<hex>`; null for other text. */
function keyIdOf(text: string): string | null {
  if (isUuid(text)) return text
  const hex = /^key_([0-9a-f]{32})$/i.exec(text)?.[1]
  return hex === undefined ? null : idOfHex(hex)
}

function presentKey(key: ManagedKey, callerId: string | null, nowMs: number): z.output<typeof keySchema> {
  const isExpired = key.expiresAt !== null && key.expiresAt.getTime() <= nowMs
  return {
    id: key.id,
    key_id: `key_${hexOf(key.id)}`,
    object: 'api_key',
    type: key.kind,
    name: key.name,
    scopes: [...key.scopes],
    domain_id: key.domainId,
    domain: key.domain,
    account_id: key.accountId,
    status: !key.isActive ? 'revoked' : isExpired ? 'expired' : 'active',
    is_active: key.isActive,
    is_current: key.id === callerId,
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    allowed_networks: [...key.allowedNetworks],
    created_at: key.createdAt.toISOString(),
    earlier_secrets_until: key.earlierSecretsUntil.map((until) => until.toISOString()),
  }
}
