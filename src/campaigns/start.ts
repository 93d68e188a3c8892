/**
 * Beginning a campaign: it is judged, what it says is stored once and for ever, and it moves to SENDING, in one transaction. Two who begin
 * it at once: one does. Changed while it is judged: it is judged again, so what leaves is what was judged. What was begun is gone on with
 * by the worker, whoever dies.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '#src/context.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { storeContent, type NewContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import type { Renderer } from '#src/templates/render.ts'
import { sampleVariables } from '#src/templates/variables.ts'
import { findTemplateVersion } from '#src/templates/versions.ts'
import { finishWritten } from '#src/templates/inline-template.ts'
import { moveCampaign, type CampaignName, type MoveResult } from './transitions.ts'
import { CAMPAIGN_MOVES } from './state.ts'
import { findCampaign, type Campaign } from './store.ts'

export type Starting = Pick<Context, 'clock'> & {
  readonly db: Db
  readonly renderer: Pick<Renderer, 'renderMany' | 'finish' | 'judge'>
}

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

export function startCampaign(ctx: Starting, name: CampaignName): Promise<StartResult> {
  return judgeAndMove(ctx, name, async (tx, campaign, { sendable, blocks }) => {
    // a move that is refused stores nothing
    if (!CAMPAIGN_MOVES.start.from.some((status) => status === campaign.status)) return moveCampaign(tx, name, 'start')
    return sendable === null
      ? { kind: 'blocked', blocks }
      : sendNow(ctx, tx, campaign, { name, sendable, isRecipientTime: false })
  })
}

type Move = (tx: Queryable, campaign: Campaign, judged: Judged) => Promise<StartResult>

/** Judging takes a while: who changes a campaign all the time is told. */
const TRIES = 5
const UNSTEADY = hard('changing', 'the campaign is being changed; try again')

/** Moves it as it was judged, under its lock; judges anew what was changed, moved or set to another time meanwhile. */
export async function judgeAndMove(ctx: Starting, { workspaceId, id }: CampaignName, move: Move): Promise<StartResult> {
  for (let i = 0; i < TRIES; i++) {
    const campaign = await findCampaign(ctx.db, workspaceId, id)
    if (campaign === null) return { kind: 'not-found' }
    const judged = await judgeSendable(ctx, workspaceId, campaign)
    const result = await ctx.db.transaction(async (tx) => {
      await tx.query('SELECT FROM campaigns WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE', [workspaceId, id])
      return isDeepStrictEqual(await findCampaign(tx, workspaceId, id), campaign) ? move(tx, campaign, judged) : null
    })
    if (result !== null) return result
  }
  return { kind: 'blocked', blocks: [UNSTEADY] }
}

interface Leaving {
  readonly name: CampaignName
  readonly sendable: Sendable
  /** At its time on each recipient's own clock; else now, or spread from now on. */
  readonly isRecipientTime: boolean
}

export async function sendNow(
  { clock }: Pick<Context, 'clock'>,
  tx: Queryable,
  { subjectB, spreadMinutes }: Campaign,
  { name, sendable, isRecipientTime }: Leaving,
): Promise<MoveResult> {
  const { domainId, content } = sendable
  const contentId = await storeContent(tx, name.workspaceId, content)
  const contentBId =
    subjectB === null ? null : await storeContent(tx, name.workspaceId, { ...content, subject: subjectB })
  return moveCampaign(tx, name, 'start', {
    is_open: true,
    started_at: new Date(clock.now()),
    domain_id: domainId,
    content_id: contentId,
    content_b_id: contentBId,
    reason: null,
    send_mode: isRecipientTime ? 'recipient_time' : spreadMinutes === null ? 'at_once' : 'spread',
  })
}

/** Content, sender and audiences: what must be right however much it is wished. */
export async function judgeSendable(
  ctx: Omit<Starting, 'clock'>,
  workspaceId: string,
  campaign: Campaign,
): Promise<Judged> {
  const [found, domainId, hasAudience] = await Promise.all([
    contentOf(ctx, workspaceId, campaign),
    findSender(ctx.db, workspaceId, campaign.fromEmail),
    hasLiveAudience(ctx.db, workspaceId, campaign),
  ])
  const content = 'code' in found ? null : found
  const blocks = [
    ...('code' in found ? [found] : []),
    ...(domainId === null
      ? [hard('sender-not-verified', 'the sender must be an address of a verified domain of the workspace')]
      : []),
    ...(hasAudience ? [] : [hard('no-audience', 'the campaign names no audience that exists')]),
    ...(content === null ? [] : await judgeSubjects(ctx, workspaceId, content, campaign.subjectB)),
  ]
  return {
    blocks,
    sendable:
      content === null || domainId === null || blocks.some(({ mayForce }) => !mayForce) ? null : { content, domainId },
  }
}

/** The template as it is now, under the campaign's own subject where it has one; or subject and body. */
async function contentOf(
  ctx: Omit<Starting, 'clock'>,
  workspaceId: string,
  { templateId, subject, body, text }: Campaign,
): Promise<NewContent | Block> {
  if (templateId !== null) {
    const template = await findTemplateVersion(ctx.db, workspaceId, templateId, null)
    if (template === null) return NO_CONTENT
    return {
      templateId,
      templateVersion: template.version,
      subject: subject ?? template.subject,
      html: template.html,
      text: template.text,
    }
  }
  if (subject === null || body === null) return NO_CONTENT
  const finished = await finishWritten(ctx, workspaceId, { subject, body, text, format: null })
  if (!finished.ok) return hard('template-broken', `the content cannot be rendered: ${finished.reason}`)
  return { templateId: null, templateVersion: null, subject, html: finished.html, text: finished.text }
}

/** A test has two. */
async function judgeSubjects(
  ctx: Pick<Starting, 'renderer'>,
  workspaceId: string,
  content: NewContent,
  subjectB: string | null,
): Promise<Block[]> {
  const wrong = await judgeContent(ctx, workspaceId, content)
  if (wrong.length > 0 || subjectB === null) return wrong
  const ofOther = await judgeContent(ctx, workspaceId, { ...content, subject: subjectB })
  return ofOther.map((block) => ({ ...block, message: `with the other subject of the test: ${block.message}` }))
}

/** Rendered once with samples: what is broken altogether is found before a million mails fail by it. */
async function judgeContent(
  { renderer }: Pick<Starting, 'renderer'>,
  workspaceId: string,
  { subject, html, text }: NewContent,
): Promise<Block[]> {
  const wrong = (await renderer.judge(workspaceId, { subject, html, text })).map(({ rule, message }) =>
    rule === 'missing-unsubscribe-url' ? hard('no-unsubscribe-link', message) : hard('template-broken', message),
  )
  if (wrong.length > 0) return wrong
  // by its workspace: what the renderer leaves alone for a while is nobody else's
  const [rendered] = await renderer.renderMany({ key: `campaign:${workspaceId}`, subject, html, text }, [
    JSON.stringify(sampleVariables()),
  ])
  return rendered?.ok === false
    ? [
        {
          code: 'template-broken',
          message: `the template cannot be rendered with samples: ${rendered.reason}`,
          mayForce: true,
        },
      ]
    : []
}

async function findSender(db: Queryable, workspaceId: string, from: string | null): Promise<string | null> {
  if (from === null) return null
  const { rows } = await db.query<{ id: string }>(
    sql`
      SELECT id
      FROM domains
      WHERE workspace_id = $1 AND domain = $2 AND verification_status IN ('verified', 'degraded')
    `,
    [workspaceId, from.slice(from.lastIndexOf('@') + 1)],
  )
  return rows[0]?.id ?? null
}

async function hasLiveAudience(db: Queryable, workspaceId: string, { audienceIds }: Campaign): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM audiences WHERE workspace_id = $1 AND id = ANY ($2::uuid[]) AND deleted_at IS NULL LIMIT 1',
    [workspaceId, audienceIds],
  )
  return rows.length > 0
}
