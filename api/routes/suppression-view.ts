/** A suppressed address as the API shows it. Pure. */
import type { Suppression } from '#src/suppression/list.ts'

export function presentSuppression(suppression: Suppression): Record<string, unknown> {
  return {
    email: suppression.address,
    address: suppression.address,
    kind: suppression.kind,
    cause: suppression.cause,
    reason: suppression.cause,
    reply: suppression.reply,
    rule: suppression.rule,
    event_id: suppression.eventId,
    message_id: suppression.messageId,
    api_key_id: suppression.apiKeyId,
    created_at: suppression.createdAt.toISOString(),
    updated_at: suppression.updatedAt.toISOString(),
  }
}
