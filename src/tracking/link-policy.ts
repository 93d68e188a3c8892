/**
 * Decides whether a link in a message still works: its sender must be open, and the operator must not have blocked it.
 * An unsubscribe works always; only what its pages show of the sender depends on this.
 */
import type { Context } from '#src/context.ts'
import { watchBlockedLinks, type BlockedLinks } from './blocked-links.ts'
import { createSenderStatuses } from './sender-status.ts'
import type { HitRef, ListRef } from './tokens.ts'

export interface LinkPolicy {
  /** Whether an open counts, a click redirects, and the mail may be shown. Never rejects. */
  isOpen(ref: HitRef & { readonly url?: string }): Promise<boolean>
  /** Whether the pages of an unsubscribe link may show the names of the sender's audiences. Never rejects. */
  isListOpen(ref: Pick<ListRef, 'senderId' | 'workspaceId'>): Promise<boolean>
  readonly blocked: BlockedLinks
  stop(): void
}

export function createLinkPolicy(ctx: Pick<Context, 'db' | 'clock' | 'log'>): LinkPolicy {
  const blocked = watchBlockedLinks(ctx)
  const senders = createSenderStatuses(ctx)
  return {
    isOpen: async (ref) => {
      if (ref.url === undefined ? blocked.hasMail(ref.messageId) : blocked.hasTarget(ref.url)) return false
      return (await senders.findOf(ref)) === 'open'
    },
    isListOpen: async ({ senderId, workspaceId }) => (await senders.find(senderId ?? workspaceId)) === 'open',
    blocked,
    stop: () => blocked.stop(),
  }
}
