/** An open recipient and its filter, as the queues of the operator and of a workspace show them. */
import { z, type ZodType } from 'zod'
import { hexOf } from '#src/platform/id.ts'
import type { OpenRecipient, QueueCount } from '#src/messages/queue-view.ts'
import { STATES } from '#src/messages/state.ts'
import { FILTER_FIELDS, type FilterField } from '#src/operator/filter.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { timestamp } from '#api/http/response-schemas.ts'

const MAX_LENGTH = 255

function field(name: FilterField): ZodType<string | undefined> {
  return z
    .string()
    .min(1, 'is empty')
    .max(MAX_LENGTH, 'is too long')
    .optional()
    .meta({ description: FILTER_FIELDS[name] })
}

export function filterFieldsOf<N extends FilterField>(names: readonly N[]): Record<N, ZodType<string | undefined>> {
  return Object.fromEntries(names.map((name) => [name, field(name)])) as Record<N, ZodType<string | undefined>>
}

const tier = z.enum(TIER_NAMES as [(typeof TIER_NAMES)[number], ...typeof TIER_NAMES])
const state = z.enum(Object.keys(STATES) as [keyof typeof STATES, ...(keyof typeof STATES)[]])
const count = z.int().min(0)

export const openRecipientSchema = z
  .object({
    email_id: z.string(),
    recipient: z.string(),
    domain: z.string(),
    workspace_id: z.uuid(),
    tier,
    state,
    due_at: timestamp,
    tries: count,
    reason: z.string().nullable(),
  })
  .meta({ id: 'OpenRecipient' })

export const queueCountSchema = z.object({ name: z.string(), count, oldest_due_at: timestamp })

export function presentOpenRecipient(recipient: OpenRecipient): Record<string, unknown> {
  return {
    email_id: `em_${hexOf(recipient.messageId)}`,
    recipient: recipient.address,
    domain: recipient.domain,
    workspace_id: recipient.workspaceId,
    tier: recipient.tier,
    state: recipient.state,
    due_at: recipient.dueAt.toISOString(),
    tries: recipient.tries,
    reason: recipient.reason,
  }
}

export function presentQueueCount({ name, count: n, oldestDueAt }: QueueCount): Record<string, unknown> {
  return { name, count: n, oldest_due_at: oldestDueAt.toISOString() }
}
