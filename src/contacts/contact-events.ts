/** The event that reports that a contact joined or left an audience. */
import type { WorkspaceEvent } from '#src/events/raise.ts'
import type { AudienceTarget } from './audiences.ts'

export function contactEvent(
  type: 'contact.subscribed' | 'contact.unsubscribed',
  { workspaceId, audienceId }: Pick<AudienceTarget, 'workspaceId' | 'audienceId'>,
  { email, contactId }: { readonly email: string; readonly contactId: string },
): WorkspaceEvent {
  return { workspaceId, type, recipient: email, data: { email, contact_id: contactId, audience_id: audienceId } }
}
