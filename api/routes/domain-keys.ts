/** Creates a sending key for a verified domain or a connected account. */
import { z } from 'zod'
import { resolveKeyPrefix } from '#src/auth/key-prefix.ts'
import { createKey } from '#src/auth/keys.ts'
import { invalid, refuse } from '#src/platform/errors.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { route } from '#api/http/route.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { NO_DOMAIN } from './domain-view.ts'
import { checkExpiry, keyExpiry, keyName, networkList } from './key-fields.ts'

const domainIdField = z.string().refine(isUuid, 'must be the id of a domain')
const accountIdField = z.string().refine(isUuid, 'must be the id of a connected account')

const keyBody = z
  .object({
    name: keyName,
    custom_domain_id: domainIdField.nullish(),
    domain_id: domainIdField.nullish().meta({ description: 'alias of custom_domain_id' }),
    account_id: accountIdField
      .nullish()
      .meta({ description: 'for a key of a connected account; instead of custom_domain_id' }),
    expires_at: keyExpiry.nullish(),
    allowed_networks: networkList.default([]),
  })
  .transform(
    (
      {
        name,
        custom_domain_id: customDomainId,
        domain_id: domainIdAlias,
        account_id: accountId,
        expires_at: expiresAt,
        allowed_networks: allowedNetworks,
      },
      sink,
    ) => {
      const domainId = customDomainId ?? domainIdAlias ?? null
      if (domainId === null && accountId == null)
        sink.addIssue({ code: 'custom', path: ['custom_domain_id'], message: 'is required' })
      if (domainId !== null && accountId != null)
        sink.addIssue({ code: 'custom', path: ['account_id'], message: 'give a domain or an account, not both' })
      return {
        name,
        sender: domainId === null ? { accountId: accountId ?? '' } : { domainId },
        expiresAt: expiresAt ?? null,
        allowedNetworks,
      }
    },
  )
  .meta({
    required: ['name'],
    examples: [
      { name: 'shop', custom_domain_id: '019a9a00-0000-7000-8000-000000000003', expires_at: '2031-05-04T10:00:00Z' },
    ],
  })

export const createDomainKey = route({
  name: 'create-domain-key',
  summary: 'Create a sending key for a verified domain or a connected account; only this response contains the key',
  method: 'POST',
  paths: ['/public/domains/api-keys/create'],
  access: { admin: 'api-keys:create' },
  body: keyBody,
  status: 201,
  response: envelope(
    z.object({
      api_key: z.object({
        id: z.uuid(),
        key_id: z.string(),
        name: z.string(),
        is_active: z.boolean(),
        expires_at: timestamp.nullable(),
        created_at: timestamp,
      }),
      secret_key: z.string().meta({ description: 'shown only once' }),
    }),
  ),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, body: { name, sender, expiresAt, allowedNetworks } }) => {
    const expired = checkExpiry(expiresAt, ctx.clock.now())
    if (expired !== null) return expired
    const keyFields = {
      kind: 'regular',
      prefix: await resolveKeyPrefix(ctx.db, ctx.config),
      workspaceId: caller.workspaceId,
      name,
      expiresAt,
      allowedNetworks,
    } as const
    const key = await createKey(ctx.db, { ...keyFields, ...sender })
    if (key.kind === 'domain-not-verified')
      return invalid([
        { path: 'custom_domain_id', message: `${key.domain} is not verified (${key.status}): verify it first` },
      ])
    if (key.kind === 'no-account') return refuse('NOT_FOUND', 'There is no such account. List them with list-accounts.')
    if (key.kind !== 'created') return NO_DOMAIN
    const apiKey = {
      id: key.id,
      key_id: `key_${hexOf(key.id)}`,
      name,
      is_active: true,
      expires_at: expiresAt?.toISOString() ?? null,
      created_at: key.createdAt.toISOString(),
    }
    const data = { api_key: apiKey, secret_key: key.secretKey }
    return { body: { success: true, message: 'Sending key created. Store it: it is not shown again.', data } }
  },
})
