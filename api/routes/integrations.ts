/** GET /integrations/verify: is this key good, and what is it good for. */
import { z } from 'zod'
import { route } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'

const kind = z.enum(['regular', 'admin'])
const verified = z.object({
  valid: z.literal(true),
  type: kind,
  key_type: kind,
  key_id: z.string(),
  workspace_id: z.uuid(),
  workspace: z.object({ id: z.uuid(), plan: z.string() }),
  scopes: z.array(z.string()).meta({ description: 'of an Admin key; a Regular key has none' }),
  domain: z.string().nullable().meta({ description: 'the sending domain that a Regular key is bound to' }),
  domain_status: z.string().nullable(),
  account_id: z.uuid().nullable().meta({ description: 'the connected account that a Regular key is bound to' }),
  addresses: z.array(z.string()).meta({ description: 'that mail of this account may come from' }),
  plan: z.string(),
})

export const verifyKey = route({
  name: 'verify-key',
  summary: 'The kind, workspace and scopes of the key that asks',
  method: 'GET',
  paths: ['/integrations/verify'],
  access: 'any',
  status: 200,
  answer: enveloped(verified).meta({ id: 'VerifiedKey' }),
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
