/**
 * Beginning a campaign: it is judged, what it says is stored once and for ever, and it moves to SENDING, in one transaction. Two who begin
 * it at once: one does. What was begun is gone on with by the worker, whoever dies.
 */
import type { Context } from '#src/context.ts'
import type { Db, Queryable } from '#src/db.ts'
import { storeContent, type NewContent } from '#src/recipes/contents.ts'
import type { Renderer } from '#src/templates/render.ts'
import { sampleVariables } from '#src/templates/variables.ts'
import { findTemplateVersion } from '#src/templates/versions.ts'
import { finishWritten } from '#src/templates/written.ts'
import { moveCampaign, type CampaignName, type MoveResult } from './moves.ts'
import { CAMPAIGN_MOVES, type CampaignState } from './state.ts'
import { findCampaign, type Campaign } from './store.ts'

export type Starting = Pick<Context, 'clock'> & { readonly db: Db; readonly renderer: Pick<Renderer, 'renderMany' | 'finish' | 'judge'> }

/** What stands in the way of sending. */
export interface Block {
  readonly code: string
  readonly message: string
  /** The owner may say that it is to be sent all the same. */
  readonly mayForce: boolean
}

export type StartResult = MoveResult | { readonly kind: 'blocked'; readonly blocks: readonly Block[] }

/** A campaign that could be sent as it stands: its content and its sending domain. */
export interface Sendable {
  readonly content: NewContent
  readonly domainId: string
}

export interface Judged {
  /** Null where a block says why. */
  readonly sendable: Sendable | null
  readonly blocks: readonly Block[]
}

/** One that no wish gets over. */
const hard = (code: string, message: string): Block => ({ code, message, mayForce: false })

const NO_CONTENT = hard('no-content', 'the campaign has no content: a template that exists, or subject and body')

export async function startCampaign(ctx: Starting, name: CampaignName): Promise<StartResult> {
  const campaign = await findCampaign(ctx.db, name.workspaceId, name.id)
  if (campaign === null) return { kind: 'not-found' }
  const { sendable, blocks } = await judgeSendable(ctx, name.workspaceId, campaign)
  if (sendable === null) return { kind: 'blocked', blocks }
  const { domainId, content } = sendable
  return ctx.db.transaction(async (tx) => {
    // under its lock, so that nothing is stored for one that cannot begin
    if (!await mayStart(tx, name)) return moveCampaign(tx, name, 'start')
    const contentId = await storeContent(tx, name.workspaceId, content)
    const contentBId = campaign.subjectB === null ? null : await storeContent(tx, name.workspaceId, { ...content, subject: campaign.subjectB })
    return moveCampaign(tx, name, 'start', {
      is_open: true, started_at: new Date(ctx.clock.now()), domain_id: domainId, content_id: contentId, content_b_id: contentBId, reason: null,
      send_mode: campaign.isRecipientTime ? 'recipient_time' : campaign.spreadMinutes === null ? 'at_once' : 'spread',
    })
  })
}

async function mayStart(tx: Queryable, { workspaceId, id }: CampaignName): Promise<boolean> {
  const { rows: [row] } = await tx.query<{ status: CampaignState }>(
    'SELECT status FROM campaigns WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE', [workspaceId, id])
  return row !== undefined && CAMPAIGN_MOVES.start.from.some((status) => status === row.status)
}

/** Content, sender and audiences: what must be right however much it is wished. */
export async function judgeSendable(ctx: Omit<Starting, 'clock'>, workspaceId: string, campaign: Campaign): Promise<Judged> {
  const [found, domainId, hasAudience] = await Promise.all([
    contentOf(ctx, workspaceId, campaign), findSender(ctx.db, workspaceId, campaign.fromEmail), hasLiveAudience(ctx.db, workspaceId, campaign)])
  const content = 'code' in found ? null : found
  const blocks = [
    ...('code' in found ? [found] : []),
    ...(domainId === null ? [hard('sender-not-verified', 'the sender must be an address of a verified domain of the workspace')] : []),
    ...(hasAudience ? [] : [hard('no-audience', 'the campaign names no audience that exists')]),
    ...(content === null ? [] : await judgeContent(ctx, content)),
  ]
  return { blocks, sendable: content === null || domainId === null || blocks.some(({ mayForce }) => !mayForce) ? null : { content, domainId } }
}

/** The template as it is now, under the campaign's own subject where it has one; or subject and body. */
async function contentOf(ctx: Omit<Starting, 'clock'>, workspaceId: string, { templateId, subject, body }: Campaign): Promise<NewContent | Block> {
  if (templateId !== null) {
    const template = await findTemplateVersion(ctx.db, workspaceId, templateId, null)
    if (template === null) return NO_CONTENT
    const { version, html, text } = template
    return { templateId, templateVersion: version, subject: subject ?? template.subject, html, text }
  }
  if (subject === null || body === null) return NO_CONTENT
  const finished = await finishWritten(ctx, workspaceId, { subject, body, text: null, format: null })
  if (!finished.ok) return hard('template-broken', `the content cannot be rendered: ${finished.reason}`)
  return { templateId: null, templateVersion: null, subject, html: finished.html, text: finished.text }
}

/** Rendered once with samples: what is broken altogether is found before a million mails fail by it. */
async function judgeContent({ renderer }: Pick<Starting, 'renderer'>, { subject, html, text }: NewContent): Promise<Block[]> {
  const wrong = (await renderer.judge({ subject, html, text })).map(({ rule, message }) =>
    rule === 'missing-unsubscribe-url' ? hard('no-unsubscribe-link', message) : hard('template-broken', message))
  if (wrong.length > 0) return wrong
  const [rendered] = await renderer.renderMany({ key: 'campaign-sample', subject, html, text }, [JSON.stringify(sampleVariables())])
  return rendered?.ok === false
    ? [{ code: 'template-broken', message: `the template cannot be rendered with samples: ${rendered.reason}`, mayForce: true }] : []
}

async function findSender(db: Queryable, workspaceId: string, from: string | null): Promise<string | null> {
  if (from === null) return null
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM domains WHERE workspace_id = $1 AND domain = $2 AND verification_status IN ('verified', 'degraded')`,
    [workspaceId, from.slice(from.lastIndexOf('@') + 1)])
  return rows[0]?.id ?? null
}

async function hasLiveAudience(db: Queryable, workspaceId: string, { audienceIds }: Campaign): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM audiences WHERE workspace_id = $1 AND id = ANY ($2::uuid[]) AND deleted_at IS NULL LIMIT 1', [workspaceId, audienceIds])
  return rows.length > 0
}
