/** An explanation as it is answered: one line for each recipient with all gates in order, and the first that is held for the message. */
import { z } from 'zod'
import { hexOf } from '#src/platform/id.ts'
import type { ExplainedRecipient, Explanation } from '#src/messages/explain.ts'
import { GATE_NAMES } from '#src/messages/gates.ts'
import { STATES } from '#src/messages/state.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { status } from './email-view.ts'

const gateName = z.enum(GATE_NAMES)
const text = z.string().nullable()
const time = moment.nullable()
const verdict = z.object({
  held_by: gateName.nullable().meta({ description: 'the first gate that holds it; null when none does' }),
  says: z.string().meta({ description: 'where it is and why, as a sentence' }),
  until: time,
})
const gate = z.object({ gate: gateName, holds: z.boolean(), says: z.string(), rule: text, until: time })
const recipient = verdict.extend({
  address: z.string(),
  email: z.string(),
  state: z.enum(Object.keys(STATES) as [keyof typeof STATES, ...(keyof typeof STATES)[]]),
  tries: z.int().min(0),
  next_try_at: time,
  gates: z.array(gate).meta({ description: 'in the order in which they are met' }),
})

export const explanationAnswer = enveloped(
  verdict.extend({
    email_id: z.string(),
    status,
    tier: z.enum(TIER_NAMES),
    recipients: z.array(recipient),
  }),
).meta({ id: 'EmailExplanation' })

/** The message as a whole is held where its first held recipient is; with none held, where its first recipient is. */
export function presentExplanation({ message, recipients }: Explanation): Record<string, unknown> {
  const first = recipients.find(({ heldBy }) => heldBy !== null) ?? recipients[0]
  const whole = first === undefined ? { held_by: null, says: '', until: null } : verdictOf(first)
  const head = { email_id: `em_${hexOf(message.id)}`, status: message.status, tier: message.tier }
  return {
    success: true,
    message: whole.says,
    data: { ...head, ...whole, recipients: recipients.map(presentRecipient) },
  }
}

function verdictOf({ heldBy, says, until }: ExplainedRecipient): {
  held_by: string | null
  says: string
  until: string | null
} {
  return { held_by: heldBy, says, until: until?.toISOString() ?? null }
}

function presentRecipient(explained: ExplainedRecipient): Record<string, unknown> {
  const { address, state, tries, nextTryAt } = explained.recipient
  return {
    address,
    email: address,
    state,
    ...verdictOf(explained),
    tries,
    next_try_at: nextTryAt?.toISOString() ?? null,
    gates: explained.gates.map((one) => ({ ...one, until: one.until?.toISOString() ?? null })),
  }
}
