/**
 * What of the workspace needs attention, each with the way to solve it, and the checklist of its first run. Both are
 * for pages, and computed when one asks; the stream of changes says when to ask again. Of objects that the role may
 * not read, nothing is said.
 */
import { z } from 'zod'
import type { Permission } from '#src/people/roles.ts'
import { findAttention, readAttentionFacts, type AttentionItem } from '#src/workspaces/attention.ts'
import { readFirstSteps } from '#src/workspaces/first-steps.ts'
import { countText } from '#src/platform/plural.ts'
import { planOf } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

const itemSchema = z
  .object({
    kind: z.string().meta({ description: 'what is wrong, such as `domain-degraded` or `bounce-rate`' }),
    severity: z.enum(['error', 'warning']).meta({ description: 'error: mail waits or is lost now' }),
    title: z.string().meta({ description: 'what is wrong, as a sentence' }),
    detail: z.string().meta({ description: 'the reason or the figures; empty if there is no more to say' }),
    todo: z.string().meta({ description: 'what to do' }),
    object: z
      .object({ type: z.string(), id: z.string(), name: z.string() })
      .nullable()
      .meta({ description: 'what it is about: domain, account, webhook, campaign or key; null: the workspace' }),
  })
  .meta({ id: 'AttentionItem' })

/** By type of the object. */
const READERS: Readonly<Record<string, Permission>> = {
  domain: 'domains:read',
  account: 'accounts:read',
  webhook: 'webhooks:read',
  campaign: 'campaigns:read',
  key: 'keys:read',
}

const attention = route({
  name: 'get-attention',
  summary: 'Get what needs attention in the workspace, the worst first, each with what to do',
  description:
    'Of domains, accounts, webhooks, campaigns and keys that your role may read, and of rates, plan and quota.',
  method: 'GET',
  paths: ['/public/attention'],
  access: 'member',
  status: 200,
  response: envelope(z.object({ items: z.array(itemSchema).meta({ description: 'the worst first' }) })),
  errors: [],
  handle: async (ctx, { caller }) => {
    const { config } = ctx
    const now = ctx.clock.now()
    const facts = await readAttentionFacts(ctx.db, caller.workspaceId, {
      now: new Date(now),
      ratesSince: new Date(now - config.pauseWindowSeconds * 1000),
    })
    const found = findAttention(facts, {
      bounceShare: config.pauseBounceShare,
      complaintShare: config.pauseComplaintShare,
      minimum: config.pauseMinimum,
      quota: planOf(ctx, caller.plan).monthlyQuota,
    })
    const may = ({ object }: AttentionItem): boolean =>
      object === null || (caller.permissions ?? []).includes(READERS[object.type] ?? '')
    const items = found.filter(may)
    return { body: { success: true, message: `${countText(items.length, 'item')}.`, data: { items } } }
  },
})

const stepSchema = z
  .object({
    step: z.enum(['add-domain', 'verify-domain', 'create-key', 'send', 'deliver']),
    is_done: z.boolean().meta({ description: 'whether it is done' }),
    title: z.string().meta({ description: 'what to do' }),
    why: z.string().meta({ description: 'what it is for' }),
    endpoint: z.string().meta({ description: 'the name of the endpoint that does it' }),
    object: z.object({ type: z.string(), id: z.string(), name: z.string() }).nullable(),
  })
  .meta({ id: 'ChecklistStep' })

const checklist = route({
  name: 'get-checklist',
  summary: 'Get the steps to the first delivered message of the workspace, and which are done',
  method: 'GET',
  paths: ['/public/checklist'],
  access: 'member',
  status: 200,
  response: envelope(
    z.object({
      steps: z.array(stepSchema),
      is_complete: z.boolean().meta({ description: 'all steps are done' }),
      is_sandbox: z.boolean().meta({ description: 'no mail leaves this service: recipients are simulated' }),
    }),
  ),
  errors: [],
  handle: async (ctx, { caller }) => {
    const done = await readFirstSteps(ctx.db, caller.workspaceId)
    const { openDomain } = done
    const domain = openDomain === null ? null : { type: 'domain', ...openDomain }
    const flags = {
      'add-domain': done.hasDomain,
      'verify-domain': done.isVerified,
      'create-key': done.hasKey,
      send: done.hasSent,
      deliver: done.isDelivered,
    }
    const steps = STEPS.map((one) => ({
      ...one,
      is_done: flags[one.step],
      object: one.step === 'verify-domain' && !done.isVerified ? domain : null,
    }))
    const open = steps.filter((one) => !one.is_done).length
    const data = { steps, is_complete: open === 0, is_sandbox: ctx.config.isSandbox }
    return { body: { success: true, message: `${countText(open, 'step')} left.`, data } }
  },
})

const STEPS = [
  {
    step: 'add-domain',
    title: 'Add a sending domain, or connect an account',
    why: 'Mail is sent from an address of a domain that is yours.',
    endpoint: 'add-domain',
  },
  {
    step: 'verify-domain',
    title: 'Publish the DNS records of the domain',
    why: 'Receivers trust mail that is signed by the domain of its sender.',
    endpoint: 'verify-domain',
  },
  {
    step: 'create-key',
    title: 'Create an API key for sending',
    why: 'Programs send with it, by REST and as the password of SMTP.',
    endpoint: 'create-domain-key',
  },
  {
    step: 'send',
    title: 'Send a first message',
    why: 'A message to yourself shows that everything works.',
    endpoint: 'send-instant',
  },
  {
    step: 'deliver',
    title: 'See it delivered',
    why: 'The receiver has accepted it; if it waits, explain-email says why.',
    endpoint: 'search-emails',
  },
] as const

export const ATTENTION_ROUTES: readonly AnyRoute[] = [attention, checklist]
