/**
 * The explanation of a message: for each recipient all gates in order and the first gate that holds it; for the
 * message, the first gate that holds any recipient.
 */
import { z } from 'zod'
import type { Translation } from '#src/platform/coded-text.ts'
import { hexOf } from '#src/platform/id.ts'
import type { ExplainedRecipient, Explanation } from '#src/messages/explain.ts'
import { GATE_NAMES } from '#src/messages/gates.ts'
import { STATES } from '#src/messages/state.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { envelope, timestamp, translation } from '#api/http/response-schemas.ts'
import { emailStatus } from './email-view.ts'

const gateName = z.enum(GATE_NAMES)
const nullableText = z.string().nullable()
const nullableTime = timestamp.nullable()
const holdFields = z.object({
  held_by: gateName.nullable().meta({ description: 'the first gate that holds it; null if none does' }),
  says: z.string().meta({ description: 'where it is and why, as a sentence' }),
  translation: translation
    .nullable()
    .meta({ description: 'of what `says` has behind the state; null: nothing, or a text of the receiver' }),
  until: nullableTime,
})
const gateSchema = z.object({
  gate: gateName,
  holds: z.boolean(),
  says: z.string(),
  translation: translation.meta({ description: 'of `says`' }),
  rule: nullableText,
  rule_translations: z.array(translation).meta({ description: 'of the sentences of the rule; empty: there are none' }),
  until: nullableTime,
})
const recipientSchema = holdFields.extend({
  address: z.string(),
  email: z.string(),
  state: z.enum(Object.keys(STATES) as [keyof typeof STATES, ...(keyof typeof STATES)[]]),
  tries: z.int().min(0),
  next_try_at: nullableTime,
  gates: z.array(gateSchema).meta({ description: 'in the order in which they are evaluated' }),
})

export const explanationResponse = envelope(
  holdFields.extend({
    email_id: z.string(),
    status: emailStatus,
    tier: z.enum(TIER_NAMES),
    recipients: z.array(recipientSchema),
  }),
).meta({ id: 'EmailExplanation' })

/** The summary of the message is that of its first held recipient; if none is held, of its first recipient. */
export function presentExplanation({ message, recipients }: Explanation): Record<string, unknown> {
  const leading = recipients.find(({ heldBy }) => heldBy !== null) ?? recipients[0]
  const overall =
    leading === undefined ? { held_by: null, says: '', translation: null, until: null } : presentHold(leading)
  const head = { email_id: `em_${hexOf(message.id)}`, status: message.status, tier: message.tier }
  return {
    success: true,
    message: overall.says,
    data: { ...head, ...overall, recipients: recipients.map(presentRecipient) },
  }
}

interface PresentedHold {
  readonly held_by: string | null
  readonly says: string
  readonly translation: Translation | null
  readonly until: string | null
}

function presentHold(explained: ExplainedRecipient): PresentedHold {
  const { heldBy, says, until } = explained
  return { held_by: heldBy, says, translation: explained.translation, until: until?.toISOString() ?? null }
}

function presentRecipient(explained: ExplainedRecipient): Record<string, unknown> {
  const { address, state, tries, nextTryAt } = explained.recipient
  return {
    address,
    email: address,
    state,
    ...presentHold(explained),
    tries,
    next_try_at: nextTryAt?.toISOString() ?? null,
    gates: explained.gates.map(({ ruleTranslations, ...one }) => ({
      ...one,
      rule_translations: ruleTranslations,
      until: one.until?.toISOString() ?? null,
    })),
  }
}
