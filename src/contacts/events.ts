/** What is told of a contact that joins or leaves an audience. */
import type { WorkspaceEvent } from '#src/events/raise.ts'
import type { Target } from './audiences.ts'

export function contactEvent(
  type: 'contact.subscribed' | 'contact.unsubscribed',
  { workspaceId, audienceId }: Pick<Target, 'workspaceId' | 'audienceId'>,
  { email, contactId }: { readonly email: string; readonly contactId: string },
): WorkspaceEvent {
  return { workspaceId, type, recipient: email, data: { email, contact_id: contactId, audience_id: audienceId } }
}
