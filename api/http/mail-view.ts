/**
 * The "view in browser" version of a mail: the stored content, or a new rendering if the mail is from a campaign or an
 * automation. It has no open pixel and no tracked links, so viewing it is neither an open nor a click.
 */
import type { Context } from '#src/context.ts'
import { renderDeferredMessage } from '#src/deferred-content/deferred-content.ts'
import { bodyColumn, COMPRESSED_BODY, joinBody } from '#src/messages/bodies.ts'
import { bodyOf } from '#src/messages/body-compression.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import type { LinkPolicy } from '#src/tracking/link-policy.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingCache } from '#src/tracking/settings.ts'
import { createTrackingTokens } from '#src/tracking/tokens.ts'

export interface ViewedMail {
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

export type MailViewResult =
  | { readonly kind: 'mail'; readonly mail: ViewedMail }
  /** The content is no longer stored, or its contact was deleted. */
  | { readonly kind: 'gone' }
  /** Its sender is closed, or the operator blocked it. */
  | { readonly kind: 'closed' }
  /** The token is invalid. */
  | { readonly kind: 'not-ours' }

export interface MailView {
  find(token: string): Promise<MailViewResult>
}

interface StoredMail extends ViewedMail {
  readonly compressed: Buffer | null
  readonly isRecipe: boolean
  readonly isRaw: boolean
}

const FIND_STORED = weekly(
  'mail-view-stored',
  (weeks) => sql`
    SELECT m.subject, ${bodyColumn('html')} AS html, ${bodyColumn('body_text')} AS text,
      ${COMPRESSED_BODY} AS compressed, m.content_id IS NOT NULL AS "isRecipe",
      ${bodyColumn('raw')} IS NOT NULL AS "isRaw"
    FROM messages m
    ${joinBody(weeks)}
    WHERE m.id = $1
      AND NOT m.is_confidential
      AND ${weeks.contain('m.id')}
      AND num_nonnulls(m.html, m.body_text, m.raw, m.content_id, b.html, b.body_text, b.raw, b.compressed) > 0
  `,
)

export function createMailView(ctx: Context, renderer: Renderer, policy: Pick<LinkPolicy, 'isOpen'>): MailView {
  const tokens = createTrackingTokens(ctx.encryption)
  const deps = { ctx, links: createLinks(ctx), tracking: createTrackingCache(ctx) }

  async function loadMail(messageId: string, n: number): Promise<ViewedMail | null> {
    const {
      rows: [stored],
    } = await ctx.db.query<StoredMail>(FIND_STORED.for([messageId]), [messageId])
    if (stored === undefined || stored.isRaw) return null
    if (!stored.isRecipe) return viewOf(stored)
    const rendered = await renderDeferredMessage(deps, renderer, messageId, n)
    return rendered?.kind === 'mail' ? rendered : null
  }

  return {
    find: async (token) => {
      const ref = tokens.readHit('view', token)
      if (ref === null) return { kind: 'not-ours' }
      if (!(await policy.isOpen(ref))) return { kind: 'closed' }
      const mail = await loadMail(ref.messageId, ref.n)
      return mail === null ? { kind: 'gone' } : { kind: 'mail', mail }
    },
  }
}

/** Null for mail that was submitted by SMTP, which has no "view in browser" link, and for a damaged body. */
function viewOf({ subject, html, text, compressed }: StoredMail): ViewedMail | null {
  const body = bodyOf({ html, text, raw: null, compressed })
  return body === null || body.raw !== null ? null : { subject, html: body.html, text: body.text }
}
