/**
 * The API keys of every workspace, and trust in their sending domains. The command line has the same: `mailstead key`
 * and `mailstead domain verify --trust`. A secret is in the response that creates its key, and nowhere else.
 */
import { z } from 'zod'
import { deactivateKey, listKeys, type KeyRow } from '#src/auth/key-list.ts'
import { resolveKeyPrefix } from '#src/auth/key-prefix.ts'
import { createKey } from '#src/auth/keys.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { findDomain, trustDomain } from '#src/domains/domains.ts'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { NO_WORKSPACE, requireWorkspace, workspaceParams } from './admin-workspaces.ts'
import { keyName, networkList } from './key-fields.ts'

const NO_KEY = refuse('NOT_FOUND', 'There is no such API key. List them with admin-list-keys.')
const NO_DOMAIN = refuse(
  'NOT_FOUND',
  'The workspace has no such sending domain. Check its name, or add it with add-domain.',
)
const TAKEN = refuse('CONFLICT', 'Another workspace has verified this domain. Remove it there first.')
const domainName = z.string().min(1, 'is empty').max(255, 'is too long')

const keySchema = z
  .object({
    id: z.uuid(),
    workspace_id: z.uuid(),
    type: z.enum(['regular', 'admin']),
    name: z.string(),
    scopes: z.array(z.string()).meta({ description: 'of an Admin key' }),
    domain: z.string().nullable(),
    account: z.string().nullable().meta({ description: 'the name of the connected account that it sends through' }),
    allowed_networks: z.array(z.string()).meta({ description: 'in CIDR notation; empty: everywhere' }),
    is_active: z.boolean(),
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'AdminApiKey' })

function presentKey(row: KeyRow): z.output<typeof keySchema> {
  return {
    id: row.id,
    workspace_id: row.workspaceId,
    type: row.kind,
    name: row.name,
    scopes: [...row.scopes],
    domain: row.domain,
    account: row.account,
    allowed_networks: [...row.allowedNetworks],
    is_active: row.isActive,
    expires_at: row.expiresAt?.toISOString() ?? null,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  }
}

const listAllKeys = route({
  name: 'admin-list-keys',
  summary: 'List the API keys of a workspace and when each was last used, the newest first',
  method: 'GET',
  paths: ['/admin/workspaces/:workspace/keys'],
  access: 'operator',
  params: workspaceParams,
  query: paging,
  status: 200,
  response: pagedList('keys', keySchema),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, request) => {
    const workspace = await requireWorkspace(ctx, request.params.workspace)
    if (isRefusal(workspace)) return workspace
    const page = openPage(ctx, 'admin-list-keys', request)
    if (isRefusal(page)) return page
    const found = mapPage(await listKeys(ctx.db, workspace.id, page), presentKey)
    const data = pageData('keys', found, page)
    return { body: { success: true, message: `${found.total} API keys.`, data } }
  },
})

const createAdminKey = route({
  name: 'admin-create-key',
  summary: 'Create an Admin key of a workspace; only this response contains the secret',
  method: 'POST',
  paths: ['/admin/workspaces/:workspace/keys'],
  access: 'operator',
  params: workspaceParams,
  body: z
    .object({
      name: keyName.default('Admin key'),
      scopes: z
        .array(z.enum(ALL_SCOPES as [(typeof ALL_SCOPES)[number], ...(typeof ALL_SCOPES)[number][]]))
        .min(1, 'is empty')
        .optional()
        .meta({ description: 'what it may do; by default all' }),
      allowed_networks: networkList.default([]),
    })
    .meta({ examples: [{ name: 'Reports', scopes: ['campaigns:manage', 'contacts:read'] }] }),
  status: 201,
  response: envelope(z.object({ id: z.uuid(), secret_key: z.string().meta({ description: 'shown only once' }) })),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params, body }) => {
    const workspace = await requireWorkspace(ctx, params.workspace)
    if (isRefusal(workspace)) return workspace
    const key = await createKey(ctx.db, {
      kind: 'admin',
      prefix: await resolveKeyPrefix(ctx.db, ctx.config),
      workspaceId: workspace.id,
      name: body.name,
      scopes: body.scopes ?? ALL_SCOPES,
      allowedNetworks: body.allowed_networks,
    })
    if (key.kind === 'too-many-admin-keys')
      return refuse(
        'CONFLICT',
        `The workspace has the maximum of ${key.max} Admin keys. Stop one with admin-deactivate-key.`,
      )
    if (key.kind !== 'created') return NO_WORKSPACE
    const data = { id: key.id, secret_key: key.secretKey }
    return { body: { success: true, message: 'Admin key created. Store it: it is not shown again.', data } }
  },
})

const deactivate = route({
  name: 'admin-deactivate-key',
  summary: 'Stop an API key of any workspace for good',
  method: 'DELETE',
  paths: ['/admin/keys/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND'],
  handle: async ({ db }, { params: { id } }) =>
    isUuid(id) && (await deactivateKey(db, id))
      ? { body: { success: true, message: 'The key is deactivated and stops working now.' } }
      : NO_KEY,
})

const trust = route({
  name: 'admin-trust-domain',
  summary: 'Verify a sending domain without its DNS records, because you know whose it is',
  description:
    'It stays verified while its records are missing. For domains of your own, or before DNS can be changed. Mail is ' +
    'signed, but receivers cannot verify it until the records are published.',
  method: 'POST',
  paths: ['/admin/workspaces/:workspace/domains/:domain/trust'],
  access: 'operator',
  params: workspaceParams.extend({ domain: domainName.meta({ description: 'the name or id of the sending domain' }) }),
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params }) => {
    const workspace = await requireWorkspace(ctx, params.workspace)
    if (isRefusal(workspace)) return workspace
    const domain = await findDomain(ctx.db, workspace.id, params.domain)
    if (domain === null) return NO_DOMAIN
    const result = await trustDomain(ctx.db, domain.id)
    if (result === 'not-found') return NO_DOMAIN
    return result === 'taken' ? TAKEN : { body: { success: true, message: `The domain ${domain.domain} is trusted.` } }
  },
})

export const ADMIN_KEY_ROUTES: readonly AnyRoute[] = [listAllKeys, createAdminKey, deactivate, trust]
