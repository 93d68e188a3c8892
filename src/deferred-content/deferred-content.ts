/**
 * From a recipe and its contact to what a mail is rendered from: the source, the variables, and the headers of unsubscribing. The same recipe
 * of the same contact makes the same mail. Nothing of it is stored. Whether the contact may have it is not judged here.
 *
 * A contact that is gone, or a content, is the answer for that mail alone. Rejects when a store is away.
 */
import { createKeptAnswers } from '#src/concurrency/loading-cache.ts'
import { loadMailContacts, type MailContact } from '#src/contacts/mail-contacts.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { Recipe } from '#src/messages/claim.ts'
import { sql } from '#src/stores/sql.ts'
import { mentionsOf, variablesOf } from '#src/templates/variables.ts'
import type { Renderer } from '#src/templates/render.ts'
import type { Source } from '#src/templates/source.ts'
import type { Links, MailRef } from '#src/tracking/links.ts'
import type { TrackingCache } from '#src/tracking/settings.ts'
import { findContent, type MailContent } from './content-store.ts'

export interface RecipeMail {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly campaignId: string | null
  readonly recipe: Recipe
  /** Whom it is for; null when the contact was deleted. */
  readonly contact: MailContact | null
}

export type Filled =
  | {
      readonly kind: 'filled'
      readonly source: Source
      /** A JSON object. */
      readonly params: string
      readonly headers: readonly (readonly [name: string, value: string])[]
      /** Whom its links are about. */
      readonly ref: MailRef
    }
  | Unfillable

/** What no mail can be made of. */
export type Unfillable =
  /** The contact was deleted. */
  { readonly kind: 'contact-gone' } | { readonly kind: 'cannot-render'; readonly reason: string }

export interface Recipes {
  fillIn(mail: RecipeMail): Promise<Filled>
}

export interface RecipeParts {
  readonly ctx: Pick<Context, 'db' | 'clock'>
  readonly links: Links
  readonly tracking: TrackingCache
}

const KEPT = { max: 500, ttlMs: 60_000 }

export function createRecipes({ ctx, links, tracking }: RecipeParts): Recipes {
  const contents = createKeptAnswers<MailContent | null>(ctx.clock, KEPT)
  const campaigns = createKeptAnswers<string>(ctx.clock, KEPT)
  const contentOf = ({ workspaceId, recipe: { contentId } }: RecipeMail): Promise<MailContent | null> =>
    contents.find(contentId, () => findContent(ctx.db, workspaceId, contentId))
  const campaignOf = async ({
    workspaceId,
    campaignId: id,
  }: RecipeMail): Promise<{ id: string; name: string } | undefined> =>
    id === null ? undefined : { id, name: await campaigns.find(id, () => findCampaignName(ctx.db, workspaceId, id)) }

  const uses = new WeakMap<MailContent, Use>()
  const useOf = (content: MailContent): Use => {
    const use = uses.get(content) ?? makeUse(content)
    uses.set(content, use)
    return use
  }

  async function fillIn(mail: RecipeMail): Promise<Filled> {
    const { messageId, n, workspaceId, recipe, contact } = mail
    if (contact === null) return { kind: 'contact-gone' }
    const content = await contentOf(mail)
    if (content === null) return { kind: 'cannot-render', reason: 'its content is gone' }
    const { base } = await tracking.find(workspaceId)
    const ref = { base, messageId, n, workspaceId, contactId: recipe.contactId, audienceId: recipe.audienceId }
    const { source, isWanted } = useOf(content)
    const params = variablesOf(
      contact,
      {
        unsubscribeUrl: links.unsubscribe(ref),
        preferencesUrl: links.preferences(ref),
        viewInBrowserUrl: VIEW.some(isWanted) ? links.view(ref) : '',
        campaign: await campaignOf(mail),
        workspace: { name: content.workspaceName },
        event: eventOf(recipe),
      },
      isWanted,
    )
    return { kind: 'filled', source, params: JSON.stringify(params), headers: links.listUnsubscribe(ref), ref }
  }

  return { fillIn }
}

/** What all mails of a content share. */
interface Use {
  readonly source: Source
  /** Which variables it may print. */
  readonly isWanted: ReturnType<typeof mentionsOf>
}

function makeUse({ id, subject, html, text }: MailContent): Use {
  return { source: { key: id, subject, html, text, makesText: true }, isWanted: mentionsOf([subject, html, text]) }
}

const VIEW = ['viewInBrowserUrl', 'view_in_browser_url']

function eventOf({ params }: Recipe): Readonly<Record<string, unknown>> | undefined {
  const event = params?.['event']
  return typeof event === 'object' && event !== null ? (event as Readonly<Record<string, unknown>>) : undefined
}

/** What a contact brings into a subject must not begin a header of its own. */
function oneLine(subject: string): string {
  return subject.replaceAll(/\p{Cc}+/gu, ' ')
}

const CAMPAIGN_NAME = prepared(
  'recipes-campaign-name',
  'SELECT name FROM campaigns WHERE workspace_id = $1 AND id = $2',
)

async function findCampaignName(db: Queryable, workspaceId: string, id: string): Promise<string> {
  const { rows } = await db.query<{ name: string }>(CAMPAIGN_NAME, [workspaceId, id])
  return rows[0]?.name ?? ''
}

const STORED = prepared(
  'recipes-stored',
  sql`
    SELECT m.workspace_id AS "workspaceId", m.campaign_id AS "campaignId", m.content_id AS "contentId",
      m.contact_id AS "contactId", m.audience_id AS "audienceId", m.params
    FROM messages m
    WHERE m.id = $1 AND m.content_id IS NOT NULL
  `,
)

interface StoredRecipe
  extends
    Pick<RecipeMail, 'workspaceId' | 'campaignId'>,
    Pick<Recipe, 'contentId' | 'contactId' | 'audienceId' | 'params'> {}

/** A mail as it reads. */
export type Made =
  | {
      readonly kind: 'mail'
      readonly subject: string
      readonly html: string | null
      readonly text: string | null
      readonly ref: MailRef
    }
  | Unfillable

/**
 * What a mail of a campaign or an automation says, for who looks at it again: `n` is its recipient. Made anew of what is known of the
 * contact now; one that has unsubscribed since may still read it. Null: the message is none of these.
 */
export async function renderRecipe(
  parts: RecipeParts,
  renderer: Pick<Renderer, 'renderMany'>,
  messageId: string,
  n = 0,
): Promise<Made | null> {
  const {
    rows: [row],
  } = await parts.ctx.db.query<StoredRecipe>(STORED, [messageId])
  if (row === undefined) return null
  const { workspaceId, campaignId, ...recipe } = row
  const [contact = null] = await loadMailContacts(parts.ctx.db, [row])
  const filled = await createRecipes(parts).fillIn({ messageId, n, workspaceId, campaignId, recipe, contact })
  if (filled.kind !== 'filled') return filled
  const [rendered] = await renderer.renderMany(filled.source, [filled.params])
  if (rendered?.ok !== true) return { kind: 'cannot-render', reason: rendered?.reason ?? 'nothing came of it' }
  const { subject, html, text } = rendered
  return { kind: 'mail', subject: oneLine(subject), html, text, ref: filled.ref }
}
