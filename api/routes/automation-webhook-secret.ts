/** The secret that signs the webhook steps of all automations of a workspace. Only this response contains it. */
import { z } from 'zod'
import { rotateCallSecret } from '#src/automations/call-secrets.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { WRITE } from './automations.ts'

const rotate = route({
  name: 'rotate-automation-webhook-secret',
  summary: 'Make a new secret for the webhook steps of automations; the previous one also signs for 24 hours',
  method: 'POST',
  paths: ['/public/automations/rotate-webhook-secret'],
  access: WRITE,
  status: 200,
  response: envelope(
    z.object({
      secret: z.string().meta({ description: 'whsec_…, shown only once' }),
      previous_secret_until: timestamp
        .nullable()
        .meta({ description: 'until when the previous secret also signs; null if there was none' }),
    }),
  ),
  errors: [],
  handle: async (ctx, { caller }) => {
    const { secret, previousUntil } = await rotateCallSecret(ctx, caller.workspaceId)
    return {
      body: {
        success: true,
        message: 'Secret of webhook steps created. Store it: it is not shown again.',
        data: { secret, previous_secret_until: previousUntil?.toISOString() ?? null },
      },
    }
  },
})

export const AUTOMATION_WEBHOOK_SECRET_ROUTES: readonly AnyRoute[] = [rotate]
