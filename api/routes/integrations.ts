/** GET /integrations/verify: whether a key is valid, and what it may do. */
import { z } from 'zod'
import { route } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'

const keyKind = z.enum(['regular', 'admin'])
const verifiedKey = z.object({
  valid: z.literal(true),
  type: keyKind,
  key_type: keyKind,
  key_id: z.string(),
  workspace_id: z.uuid(),
  workspace: z.object({ id: z.uuid(), plan: z.string() }),
  scopes: z.array(z.string()).meta({ description: 'the scopes of an Admin key; a Regular key has none' }),
  domain: z.string().nullable().meta({ description: 'the sending domain that a Regular key is bound to' }),
  domain_status: z.string().nullable(),
  account_id: z.uuid().nullable().meta({ description: 'the connected account that a Regular key is bound to' }),
  addresses: z.array(z.string()).meta({ description: 'the addresses that this account allows in From' }),
  plan: z.string(),
})

export const verifyKey = route({
  name: 'verify-key',
  summary: 'Verify an API key: its kind, workspace and scopes',
  method: 'GET',
  paths: ['/integrations/verify'],
  access: 'any',
  status: 200,
  response: envelope(verifiedKey).meta({ id: 'VerifiedKey' }),
  errors: ['SERVICE_UNAVAILABLE'],
  handle: (_ctx, { caller }) =>
    Promise.resolve({
      body: {
        success: true,
        message: 'The key is valid.',
        data: {
          valid: true,
          type: caller.kind,
          key_type: caller.kind,
          key_id: caller.keyId,
          workspace_id: caller.workspaceId,
          workspace: { id: caller.workspaceId, plan: caller.plan },
          scopes: caller.scopes,
          domain: caller.domain,
          domain_status: caller.domainStatus,
          account_id: caller.account?.id ?? null,
          addresses: caller.account?.addresses ?? [],
          plan: caller.plan,
        },
      },
    }),
})
