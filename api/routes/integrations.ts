/** GET /integrations/verify: is this key good, and what is it good for. */
import { route } from '#api/route.ts'

export const verifyKey = route({
  name: 'verify-key',
  summary: 'The kind, workspace and scopes of the key that asks',
  method: 'GET',
  paths: ['/integrations/verify'],
  access: 'any',
  status: 200,
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
          plan: caller.plan,
        },
      },
    }),
})
