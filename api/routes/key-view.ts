/** API keys as responses show them, how requests name them, and the refusals that their routes share. */
import { z } from 'zod'
import { MAX_EARLIER_SECRETS, type ManagedKey, type RotateResult } from '#src/auth/managed-keys.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, idOfHex, isUuid } from '#src/platform/id.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'

export const KEY_ACCESS = { admin: 'api-keys:manage' } as const
export const NO_KEY = refuse('NOT_FOUND', 'There is no such API key in this workspace. List them with list-api-keys.')

export const keyById = z.object({ id: z.string().meta({ description: 'the uuid, or key_…' }) })

export const keySchema = z
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
export const keyResponse = envelope(keySchema).meta({ id: 'ApiKeyAnswer' })

/** Reads a uuid or `key_<hex>`; null for other text. */
export function keyIdOf(text: string): string | null {
  if (isUuid(text)) return text
  const hex = /^key_([0-9a-f]{32})$/i.exec(text)?.[1]
  return hex === undefined ? null : idOfHex(hex)
}

export function presentKey(key: ManagedKey, callerId: string | null, nowMs: number): z.output<typeof keySchema> {
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

/** Of a rotation, and of any other change. */
export function refuseKeyChange(result: Exclude<RotateResult, { kind: 'rotated' }>): Refusal {
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
