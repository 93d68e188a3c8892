/**
 * Resolves deferred content: from the stored content and the contact of a campaign or automation message to what is
 * rendered: source, variables, and the List-Unsubscribe headers. The same content and contact always give the same
 * message. Nothing is stored. Whether the contact may get the message is decided elsewhere.
 *
 * A deleted contact or missing content is a result for that message alone. Promises reject if PostgreSQL is
 * unavailable.
 */
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { loadMailContacts, type MailContact } from '#src/contacts/mail-contacts.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { DeferredContentRef } from '#src/messages/claim.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import { createVariableFilter, variablesOf } from '#src/templates/variables.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import type { TemplateSource } from '#src/templates/template-source.ts'
import { senderIdOf, type Links, type MailRef } from '#src/tracking/links.ts'
import type { TrackingCache } from '#src/tracking/settings.ts'
import { findContent, type StoredContent } from './content-store.ts'

export interface DeferredMessage {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly domainId: string | null
  readonly campaignId: string | null
  readonly deferredContent: DeferredContentRef
  /** The contact; null if it was deleted. */
  readonly contact: MailContact | null
}

export type DeferredContentResult =
  | {
      readonly kind: 'filled'
      readonly source: TemplateSource
      /** A JSON object. */
      readonly params: string
      readonly headers: readonly (readonly [name: string, value: string])[]
      /** The recipient that the links identify. */
      readonly ref: MailRef
    }
  | UnrenderableMessage

/** Why a message cannot be rendered. */
export type UnrenderableMessage =
  /** The contact was deleted. */
  { readonly kind: 'contact-gone' } | { readonly kind: 'cannot-render'; readonly reason: string }

export interface DeferredContentResolver {
  resolve(mail: DeferredMessage): Promise<DeferredContentResult>
}

export interface DeferredContentDeps {
  readonly ctx: Pick<Context, 'db' | 'clock'>
  readonly links: Links
  readonly tracking: TrackingCache
}

const CACHE_OPTIONS = { max: 500, ttlMs: 60_000 }

export function createDeferredContentResolver({ ctx, links, tracking }: DeferredContentDeps): DeferredContentResolver {
  const contentCache = createLoadingCache<StoredContent | null>(ctx.clock, CACHE_OPTIONS)
  const campaignNameCache = createLoadingCache<string>(ctx.clock, CACHE_OPTIONS)
  const contentOf = ({ workspaceId, deferredContent: { contentId } }: DeferredMessage): Promise<StoredContent | null> =>
    contentCache.get(contentId, () => findContent(ctx.db, workspaceId, contentId))
  const campaignOf = async ({
    workspaceId,
    campaignId: id,
  }: DeferredMessage): Promise<{ id: string; name: string } | undefined> =>
    id === null
      ? undefined
      : { id, name: await campaignNameCache.get(id, () => findCampaignName(ctx.db, workspaceId, id)) }

  const preparedSources = new WeakMap<StoredContent, PreparedContent>()
  const prepare = (content: StoredContent): PreparedContent => {
    const entry = preparedSources.get(content) ?? prepareContent(content)
    preparedSources.set(content, entry)
    return entry
  }

  async function resolve(message: DeferredMessage): Promise<DeferredContentResult> {
    const { messageId, n, workspaceId, deferredContent, contact } = message
    if (contact === null) return { kind: 'contact-gone' }
    const content = await contentOf(message)
    if (content === null) return { kind: 'cannot-render', reason: 'the stored content was not found' }
    const { base } = await tracking.find(workspaceId)
    const ref = {
      base,
      messageId,
      n,
      workspaceId,
      senderId: senderIdOf(message),
      contactId: deferredContent.contactId,
      audienceId: deferredContent.audienceId,
    }
    const { source, isUsed } = prepare(content)
    const params = variablesOf(
      contact,
      {
        unsubscribeUrl: links.unsubscribe(ref),
        preferencesUrl: links.preferences(ref),
        viewInBrowserUrl: VIEW_URL_NAMES.some(isUsed) ? links.view(ref) : '',
        campaign: await campaignOf(message),
        workspace: { name: content.workspaceName },
        event: eventProperties(deferredContent),
      },
      isUsed,
    )
    return { kind: 'filled', source, params: JSON.stringify(params), headers: links.listUnsubscribe(ref), ref }
  }

  return { resolve }
}

/** Prepared once for all messages with the same content. */
interface PreparedContent {
  readonly source: TemplateSource
  /** Which variables the content may read. */
  readonly isUsed: ReturnType<typeof createVariableFilter>
}

function prepareContent({ id, subject, html, text }: StoredContent): PreparedContent {
  return {
    source: { key: id, subject, html, text, generatesText: true },
    isUsed: createVariableFilter([subject, html, text]),
  }
}

const VIEW_URL_NAMES = ['viewInBrowserUrl', 'view_in_browser_url']

function eventProperties({ params }: DeferredContentRef): Readonly<Record<string, unknown>> | undefined {
  const event = params?.['event']
  return typeof event === 'object' && event !== null ? (event as Readonly<Record<string, unknown>>) : undefined
}

/** A line break in a variable must not start a new header. */
export function oneLine(subject: string): string {
  return subject.replaceAll(/\p{Cc}+/gu, ' ')
}

const CAMPAIGN_NAME = prepared(
  'deferred-content-campaign-name',
  'SELECT name FROM campaigns WHERE workspace_id = $1 AND id = $2',
)

async function findCampaignName(db: Queryable, workspaceId: string, id: string): Promise<string> {
  const { rows } = await db.query<{ name: string }>(CAMPAIGN_NAME, [workspaceId, id])
  return rows[0]?.name ?? ''
}

const FIND_DEFERRED = weekly(
  'deferred-content-stored',
  (weeks) => sql`
    SELECT m.workspace_id AS "workspaceId", m.domain_id AS "domainId", m.campaign_id AS "campaignId",
      m.content_id AS "contentId",
      m.contact_id AS "contactId", m.audience_id AS "audienceId", m.params
    FROM messages m
    WHERE m.id = $1 AND m.content_id IS NOT NULL AND ${weeks.contain('m.id')}
  `,
)

interface StoredDeferredContent
  extends
    Pick<DeferredMessage, 'workspaceId' | 'domainId' | 'campaignId'>,
    Pick<DeferredContentRef, 'contentId' | 'contactId' | 'audienceId' | 'params'> {}

/** A message as its reader sees it. */
export type RenderedDeferredMessage =
  | {
      readonly kind: 'mail'
      readonly subject: string
      readonly html: string | null
      readonly text: string | null
      readonly ref: MailRef
    }
  | UnrenderableMessage

/**
 * Renders a campaign or automation message again, for example for its web view; `n` is the recipient. It uses the
 * contact's current data, and a contact that unsubscribed may still read it. Null if the message has no deferred
 * content.
 */
export async function renderDeferredMessage(
  deps: DeferredContentDeps,
  renderer: Pick<Renderer, 'renderMany'>,
  messageId: string,
  n = 0,
): Promise<RenderedDeferredMessage | null> {
  const {
    rows: [row],
  } = await deps.ctx.db.query<StoredDeferredContent>(FIND_DEFERRED.for([messageId]), [messageId])
  if (row === undefined) return null
  const { workspaceId, domainId, campaignId, ...deferredContent } = row
  const [contact = null] = await loadMailContacts(deps.ctx.db, [row])
  const resolved = await createDeferredContentResolver(deps).resolve({
    messageId,
    n,
    workspaceId,
    domainId,
    campaignId,
    deferredContent,
    contact,
  })
  if (resolved.kind !== 'filled') return resolved
  const [rendered] = await renderer.renderMany(resolved.source, [resolved.params])
  if (rendered?.ok !== true)
    return { kind: 'cannot-render', reason: rendered?.reason ?? 'the renderer returned no result' }
  const { subject, html, text } = rendered
  return { kind: 'mail', subject: oneLine(subject), html, text, ref: resolved.ref }
}
