/**
 * From a recipe and its contact to what a mail says: rendered in the threads that can be killed, together with all that are asked for in
 * the same moment, and given the headers of unsubscribing. Whether the contact may have it is not judged here. A text part that nobody wrote is made in those threads too: it takes longer than the rest of the rendering,
 * and the event loop has mail to send. The same recipe of the same contact makes the same mail. Nothing of it is stored.
 *
 * A contact that is gone, or a template that fails for one contact, is the answer for that mail alone. Rejects when a store is away.
 */
import { createShelf } from '#src/shelf.ts'
import { loadMailContacts, type MailContact } from '#src/contacts/mail-contacts.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/db.ts'
import type { Recipe } from '#src/messages/claim.ts'
import { mentionsOf, variablesOf } from '#src/templates/variables.ts'
import type { Renderer } from '#src/templates/render.ts'
import type { Rendered } from '#src/templates/source.ts'
import type { Links, MailRef } from '#src/tracking/links.ts'
import type { TrackingCache } from '#src/tracking/settings.ts'
import { findContent, type MailContent } from './contents.ts'

export interface RecipeMail {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly campaignId: string | null
  readonly recipe: Recipe
  /** Whom it is for; null when the contact was deleted. */
  readonly contact: MailContact | null
}

export type Made =
  | {
    readonly kind: 'mail'
    readonly subject: string
    readonly html: string | null
    readonly text: string | null
    readonly headers: readonly (readonly [name: string, value: string])[]
    /** Whom its links are about. */
    readonly ref: MailRef
  }
  /** The contact was deleted. */
  | { readonly kind: 'contact-gone' }
  | { readonly kind: 'cannot-render'; readonly reason: string }

export interface Recipes {
  make(mail: RecipeMail): Promise<Made>
}

export interface RecipeParts {
  readonly ctx: Pick<Context, 'db' | 'clock'>
  readonly renderer: Pick<Renderer, 'renderMany'>
  readonly links: Links
  readonly tracking: TrackingCache
}

const KEPT = { max: 500, ttlMs: 60_000 }

export function createRecipes({ ctx, renderer, links, tracking }: RecipeParts): Recipes {
  const contents = createShelf<Promise<MailContent | null>>(ctx.clock, KEPT)
  const campaigns = createShelf<Promise<string>>(ctx.clock, KEPT)
  const kept = <T>(shelf: { get(name: string): T | undefined; put(name: string, value: T): void }, name: string, find: () => T): T => {
    const known = shelf.get(name)
    if (known !== undefined) return known
    const found = find()
    shelf.put(name, found)
    return found
  }
  const contentOf = ({ workspaceId, recipe: { contentId } }: RecipeMail): Promise<MailContent | null> => kept(contents, contentId, () =>
    forgetting(contents, contentId, findContent(ctx.db, workspaceId, contentId)))
  const campaignOf = async ({ workspaceId, campaignId: id }: RecipeMail): Promise<{ id: string; name: string } | undefined> => id === null
    ? undefined : { id, name: await kept(campaigns, id, () => forgetting(campaigns, id, findCampaignName(ctx.db, workspaceId, id))) }

  const wanted = new WeakMap<MailContent, ReturnType<typeof mentionsOf>>()
  const wantedBy = (content: MailContent): ReturnType<typeof mentionsOf> => {
    const isWanted = wanted.get(content) ?? mentionsOf([content.subject, content.html, content.text])
    wanted.set(content, isWanted)
    return isWanted
  }

  /** The params of one mail as JSON, and whom its links are about. */
  async function fill(mail: RecipeMail, contact: MailContact, content: MailContent): Promise<{ ref: MailRef; params: string }> {
    const { messageId, n, workspaceId, recipe } = mail
    const { base } = await tracking.find(workspaceId)
    const ref = { base, messageId, n, workspaceId, contactId: recipe.contactId, audienceId: recipe.audienceId }
    const isWanted = wantedBy(content)
    const params = variablesOf(contact, {
      unsubscribeUrl: links.unsubscribe(ref), preferencesUrl: links.preferences(ref),
      viewInBrowserUrl: VIEW.some(isWanted) ? links.view(ref) : '',
      campaign: await campaignOf(mail), workspace: { name: content.workspaceName }, event: eventOf(recipe),
    }, isWanted)
    return { ref, params: JSON.stringify(params) }
  }

  async function make(mail: RecipeMail): Promise<Made> {
    if (mail.contact === null) return { kind: 'contact-gone' }
    const content = await contentOf(mail)
    if (content === null) return { kind: 'cannot-render', reason: 'its content is gone' }
    const { ref, params } = await fill(mail, mail.contact, content)
    const { id, subject, html, text } = content
    const [rendered] = await renderer.renderMany({ key: id, subject, html, text, makesText: true }, [params])
    return rendered === undefined ? { kind: 'cannot-render', reason: 'nothing came of it' } : mailOf(rendered, ref)
  }

  function mailOf(rendered: Rendered, ref: MailRef): Made {
    if (!rendered.ok) return { kind: 'cannot-render', reason: rendered.reason }
    const { subject, html, text } = rendered
    return { kind: 'mail', subject: oneLine(subject), html, text, headers: links.listUnsubscribe(ref), ref }
  }

  return { make }
}

const VIEW = ['viewInBrowserUrl', 'view_in_browser_url']

/** A question that failed is not remembered. */
function forgetting<T>(shelf: { drop(name: string): void }, name: string, question: Promise<T>): Promise<T> {
  question.catch(() => shelf.drop(name))
  return question
}

function eventOf({ params }: Recipe): Readonly<Record<string, unknown>> | undefined {
  const event = params?.['event']
  return typeof event === 'object' && event !== null ? event as Readonly<Record<string, unknown>> : undefined
}

/** What a contact brings into a subject must not begin a header of its own. */
function oneLine(subject: string): string {
  return subject.replaceAll(/\p{Cc}+/gu, ' ')
}

const CAMPAIGN_NAME = prepared('recipes-campaign-name', 'SELECT name FROM campaigns WHERE workspace_id = $1 AND id = $2')

async function findCampaignName(db: Queryable, workspaceId: string, id: string): Promise<string> {
  const { rows } = await db.query<{ name: string }>(CAMPAIGN_NAME, [workspaceId, id])
  return rows[0]?.name ?? ''
}

const STORED = prepared('recipes-stored', `
SELECT m.workspace_id AS "workspaceId", m.campaign_id AS "campaignId", m.content_id AS "contentId", m.contact_id AS "contactId",
  m.audience_id AS "audienceId", m.params FROM messages m WHERE m.id = $1 AND m.content_id IS NOT NULL`)

interface StoredRecipe extends Pick<RecipeMail, 'workspaceId' | 'campaignId'>, Pick<Recipe, 'contentId' | 'contactId' | 'audienceId' | 'params'> {}

/**
 * What a mail of a campaign or an automation says, for who looks at it again: `n` is its recipient. Made anew of what is known of the
 * contact now; one that has unsubscribed since may still read it. Null: the message is none of these.
 */
export async function renderRecipe(parts: RecipeParts, messageId: string, n = 0): Promise<Made | null> {
  const { rows: [row] } = await parts.ctx.db.query<StoredRecipe>(STORED, [messageId])
  if (row === undefined) return null
  const { workspaceId, campaignId, ...recipe } = row
  const [contact = null] = await loadMailContacts(parts.ctx.db, [row])
  return createRecipes(parts).make({ messageId, n, workspaceId, campaignId, recipe, contact })
}
