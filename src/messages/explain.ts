/**
 * Why a message is where it is, in words: for each recipient what holds it, by which rule and until when. Reads what is stored;
 * the answer is as true as the moment it was asked.
 */
import type { Db } from '#src/db.ts'
import { listSuspensions } from '#src/queue/suspensions.ts'
import { rowOf } from '#src/queue/tiers.ts'
import { readMessage, type MessageView, type RecipientView } from './read.ts'
import { STATES } from './state.ts'

export interface Explanation {
  readonly message: MessageView
  readonly recipients: readonly { readonly recipient: RecipientView; readonly holds: string; readonly until: Date | null }[]
}

/** Null when there is no such message. `workspaceId` null asks as the operator. */
export async function explainMessage(db: Db, workspaceId: string | null, id: string, now: Date): Promise<Explanation | null> {
  const owner = workspaceId ?? (await db.query<{ workspace_id: string }>('SELECT workspace_id FROM messages WHERE id = $1', [id])).rows[0]?.workspace_id
  const message = owner === undefined ? null : await readMessage(db, owner, id)
  if (message === null) return null
  const suspensions = new Map((await listSuspensions(db)).map(({ domain, reason }) => [domain, reason]))
  const suspensionOf = (address: string): string | undefined => suspensions.get(address.slice(address.lastIndexOf('@') + 1).toLowerCase()) ?? suspensions.get('*')
  return { message, recipients: message.recipients.map((recipient) => ({ recipient, ...explainRecipient(message, recipient, suspensionOf(recipient.address), now) })) }
}

function explainRecipient(message: MessageView, recipient: RecipientView, suspension: string | undefined, now: Date): { holds: string; until: Date | null } {
  const sentence = `${recipient.state}: ${STATES[recipient.state]}`
  const because = recipient.reason === null ? '' : ` (${recipient.reason})`
  if (recipient.nextTryAt === null) return { holds: sentence + because, until: null }
  if (suspension !== undefined) return { holds: `${recipient.state}: its destination is suspended by the operator (${suspension})`, until: null }
  if (recipient.nextTryAt > now) return { holds: sentence + because + leftOf(message, recipient), until: recipient.nextTryAt }
  return { holds: `${sentence}; it is due, and waits for a free slot at its site in tier ${message.tier}${because}`, until: null }
}

function leftOf(message: MessageView, recipient: RecipientView): string {
  const { retries } = rowOf(message.tier)
  return recipient.tries === 0 ? '' : `; ${recipient.tries} of ${retries + 1} tries used`
}
