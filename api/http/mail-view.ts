/**
 * A mail as its recipient may see it again in a browser: what was stored, or, of a campaign or an automation, made anew from its recipe.
 * Without tracking: who looks here is no open and no click. Null for what is not kept any more.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { renderRecipe } from '#src/deferred-content/deferred-content.ts'
import { sql } from '#src/stores/sql.ts'
import type { Renderer } from '#src/templates/render.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingCache } from '#src/tracking/settings.ts'
import { createTokens } from '#src/tracking/tokens.ts'

export interface ShownMail {
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

export type Viewed =
  | { readonly kind: 'mail'; readonly mail: ShownMail }
  /** Not kept any more, or its contact was deleted. */
  | { readonly kind: 'gone' }
  /** Not a token of ours. */
  | { readonly kind: 'not-ours' }

export interface MailView {
  find(token: string): Promise<Viewed>
}

interface Stored extends ShownMail {
  readonly isRecipe: boolean
  readonly isRaw: boolean
}

const STORED = prepared(
  'mail-view-stored',
  sql`
    SELECT subject, html, body_text AS text, content_id IS NOT NULL AS "isRecipe", raw IS NOT NULL AS "isRaw"
    FROM messages
    WHERE id = $1
  `,
)

export function createMailView(ctx: Context, renderer: Renderer): MailView {
  const tokens = createTokens(ctx.vault)
  const parts = { ctx, links: createLinks(ctx), tracking: createTrackingCache(ctx) }

  async function textsOf(messageId: string, n: number): Promise<ShownMail | null> {
    const {
      rows: [stored],
    } = await ctx.db.query<Stored>(STORED, [messageId])
    // what came by SMTP is shown by the reader's own program: it has no link to here
    if (stored === undefined || stored.isRaw) return null
    if (!stored.isRecipe) return stored
    const made = await renderRecipe(parts, renderer, messageId, n)
    return made?.kind === 'mail' ? made : null
  }

  return {
    find: async (token) => {
      const ref = tokens.readHit('view', token)
      if (ref === null) return { kind: 'not-ours' }
      const mail = await textsOf(ref.messageId, ref.n)
      return mail === null ? { kind: 'gone' } : { kind: 'mail', mail }
    },
  }
}
