/**
 * A message of a workspace as it goes over the wire, composed again from what is stored: the header, with its fields in
 * order, and the body. It is the same code that composes mail for delivery, so the octets are the same, except for what
 * is added for one recipient when mail is sent: DKIM signatures, tracking, and the List-Unsubscribe of bulk mail.
 *
 * The content comes from customers. A message that cannot be composed is a value; composing takes memory, so messages
 * above a limit are not composed. Rejects when PostgreSQL is away.
 */
import type { Context } from '#src/context.ts'
import { renderDeferredMessage, type DeferredContentDeps } from '#src/deferred-content/deferred-content.ts'
import { createSubjectRenderer, type SubjectRenderer } from '#src/deferred-content/subjects.ts'
import {
  findStoredContent,
  loadStoredAttachments,
  type StoredContentRow,
  type StoredMessageContent,
} from '#src/messages/stored-content.ts'
import { compose } from '#src/mime/compose.ts'
import { InvalidDraftError, type Composed, type Draft } from '#src/mime/draft.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingCache } from '#src/tracking/settings.ts'

/** Characters of the texts and bytes of the attachments that are composed to be shown. */
export const MAX_SHOWN_BYTES = 8 * 1024 * 1024

export type MessageSource =
  | {
      readonly kind: 'source'
      readonly stored: StoredMessageContent
      readonly draft: Draft
      readonly composed: Composed
    }
  | { readonly kind: 'not-found' }
  /** Only its recipient may read it. */
  | { readonly kind: 'confidential' }
  /** The content was deleted: its time was over, or its contact is gone. */
  | { readonly kind: 'deleted' }
  | { readonly kind: 'too-large'; readonly bytes: number }
  | { readonly kind: 'invalid'; readonly reason: string }

export interface MessageSources {
  /** `n` is the recipient of a campaign or automation message; of other messages it makes no difference. */
  find(workspaceId: string, messageId: string, n: number): Promise<MessageSource>
}

/** Subjects as lists show them. The keys of links are read at the first use. */
export function createSubjects(ctx: Context, renderer: Renderer): SubjectRenderer {
  let subjects: SubjectRenderer | null = null
  return {
    render: (messages) => {
      subjects ??= createSubjectRenderer(depsOf(ctx), renderer)
      return subjects.render(messages)
    },
  }
}

function depsOf(ctx: Context): DeferredContentDeps {
  return { ctx, links: createLinks(ctx), tracking: createTrackingCache(ctx) }
}

export function createMessageSources(ctx: Context, renderer: Renderer): MessageSources {
  let deps: DeferredContentDeps | null = null

  async function draftOf(stored: StoredMessageContent, n: number): Promise<Draft | MessageSource> {
    const { row } = stored
    const attachments = await loadStoredAttachments(ctx.db, stored)
    const draft = { ...fieldsOf(row), attachments }
    if (row.content_id === null) return draft
    deps ??= depsOf(ctx)
    const rendered = await renderDeferredMessage(deps, renderer, row.id, n)
    if (rendered === null || rendered.kind === 'contact-gone') return { kind: 'deleted' }
    if (rendered.kind === 'cannot-render') return { kind: 'invalid', reason: rendered.reason }
    return { ...draft, subject: rendered.subject, html: rendered.html, text: rendered.text }
  }

  return {
    async find(workspaceId, messageId, n) {
      const stored = await findStoredContent(ctx.db, workspaceId, messageId)
      if (stored === null) return { kind: 'not-found' }
      if (stored.kind === 'confidential') return stored
      if (!stored.isStored) return { kind: 'deleted' }
      const bytes = stored.row.content_size
      if (stored.row.raw === null && bytes > MAX_SHOWN_BYTES) return { kind: 'too-large', bytes }
      const draft = await draftOf(stored, n)
      if ('kind' in draft) return draft
      try {
        return { kind: 'source', stored, draft, composed: await compose(draft) }
      } catch (error) {
        if (error instanceof InvalidDraftError) return { kind: 'invalid', reason: error.message }
        throw error
      }
    },
  }
}

function fieldsOf(row: StoredContentRow): Omit<Draft, 'attachments'> {
  return {
    messageId: row.id,
    createdAt: row.created_at,
    from: { email: row.from_email, name: row.from_name },
    replyTo: row.reply_to,
    to: row.to_list,
    cc: row.cc_list ?? [],
    subject: row.subject,
    html: row.html,
    text: row.body_text,
    headers: row.headers ?? [],
    raw: row.raw,
  }
}
