/**
 * Changes the name, networks and expiry of a key, and the scopes of an Admin key; the secret stays. Only people who may
 * create Admin keys give one more: a stolen key cannot extend itself (src/auth/managed-keys.ts).
 */
import { z } from 'zod'
import { isAllowedFrom, readNetworks } from '#src/auth/key-networks.ts'
import { changeKey, findManagedKey, type ChangeKeyResult } from '#src/auth/managed-keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { route } from '#api/http/route.ts'
import { checkExpiry, keyExpiry, keyName, networkList, scopeList } from './key-fields.ts'
import { KEY_ACCESS, keyById, keyIdOf, keyResponse, NO_KEY, presentKey, refuseKeyChange } from './key-view.ts'

const LOCKS_ITSELF_OUT = refuse(
  'CONFLICT',
  'The networks lack the address of this request, which uses the same key. Send it too, or send force: true.',
)
const LOSES_OWN_SCOPE = refuse(
  'CONFLICT',
  `This request uses the same key, which then lacks ${KEY_ACCESS.admin}. Send that scope too, or send force: true.`,
)
const MAY_NOT_EXTEND = refuse(
  'FORBIDDEN',
  'Only a person who may create Admin keys gives one more scopes or a later expires_at. Ask an owner of the workspace.',
)
const NO_SCOPES = invalid([{ path: 'scopes', message: 'are those of an Admin key; a Regular key only sends' }])

const changeBody = z
  .object({
    name: keyName.optional(),
    allowed_networks: networkList.optional(),
    scopes: scopeList.optional().meta({ description: 'all scopes that the Admin key then has' }),
    expires_at: keyExpiry
      .nullable()
      .optional()
      .meta({ description: 'when it ends, in the future; null: it is valid until it is revoked' }),
    force: z
      .boolean()
      .default(false)
      .meta({ description: 'true: also if the key of this request then cannot be used from here, or to manage keys' }),
  })
  .refine(({ force: _force, ...given }) => Object.values(given).some((value) => value !== undefined), {
    error: 'give name, allowed_networks, scopes or expires_at',
  })
  .meta({
    examples: [
      { allowed_networks: ['192.0.2.0/24', '2001:db8::/32'] },
      { scopes: ['contacts:read'], expires_at: '2031-05-04T10:00:00Z' },
    ],
  })

export const changeApiKey = route({
  name: 'change-api-key',
  summary: 'Change the name, scopes or expiry of an API key, or the networks that it may be used from',
  description:
    'The secret stays, and what is not in the request. The networks are those of your programs, in CIDR notation; a ' +
    'single address is allowed. An empty list allows all. A request from elsewhere gets 403 FORBIDDEN, and a login ' +
    'by SMTP 535, within a second of the change. The caller must have the scopes of the key; for a Regular key, ' +
    '`api-keys:create`. Only a person who may create Admin keys gives one more scopes or a later expiry: a key can ' +
    'only restrict Admin keys. A key that has expired or is revoked cannot be changed.',
  method: 'PATCH',
  paths: ['/public/api-keys/:id'],
  access: KEY_ACCESS,
  params: keyById,
  body: changeBody,
  status: 200,
  response: keyResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'FORBIDDEN', 'INSUFFICIENT_SCOPE', 'VALIDATION_ERROR'],
  handle: async (ctx, { caller, params, body, address }) => {
    const id = keyIdOf(params.id)
    if (id === null) return NO_KEY
    const { name, scopes, allowed_networks: allowedNetworks, expires_at: expiresAt, force } = body
    const lockOut = id === caller.keyId && !force ? checkOwnAccess(body, address) : null
    const refusal = lockOut ?? checkExpiry(expiresAt, ctx.clock.now())
    if (refusal !== null) return refusal
    const owner = { workspaceId: caller.workspaceId, caller }
    const result = await changeKey(ctx.db, owner, id, { name, allowedNetworks, scopes, expiresAt })
    if (result.kind !== 'changed') return refuseChange(result)
    const key = await findManagedKey(ctx.db, caller.workspaceId, id)
    if (key === null) return NO_KEY
    return {
      body: { success: true, message: 'API key changed.', data: presentKey(key, caller.keyId, ctx.clock.now()) },
    }
  },
})

/** Null unless the key of the request then could not be used as it is now. */
function checkOwnAccess(
  { scopes, allowed_networks: networks }: z.output<typeof changeBody>,
  address: string,
): Refusal | null {
  if (networks !== undefined && !isAllowedFrom(readNetworks(networks), address)) return LOCKS_ITSELF_OUT
  return scopes !== undefined && !scopes.includes(KEY_ACCESS.admin) ? LOSES_OWN_SCOPE : null
}

function refuseChange(result: Exclude<ChangeKeyResult, { kind: 'changed' }>): Refusal {
  if (result.kind === 'may-not-extend') return MAY_NOT_EXTEND
  return result.kind === 'no-scopes' ? NO_SCOPES : refuseKeyChange(result)
}
