/**
 * Starts a campaign: validates it, stores its content permanently, and moves it to SENDING, in one transaction. Of two
 * concurrent starts one succeeds. If the campaign changes while it is validated, validation runs again, so what is sent
 * is what was validated. After a crash the workers continue with the started campaign.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '#src/context.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { storeContent, type NewContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import { sampleVariables } from '#src/templates/variables.ts'
import { findTemplateVersion } from '#src/templates/versions.ts'
import { compileInlineTemplate } from '#src/templates/inline-template.ts'
import { translationOf, type CodedText, type Translation } from '#src/platform/coded-text.ts'
import { findingText } from './finding-texts.ts'
import { moveCampaign, type CampaignKey, type CampaignMoveResult } from './transitions.ts'
import { CAMPAIGN_MOVES } from './state.ts'
import { findCampaign, type Campaign } from './store.ts'

export type StartDeps = Pick<Context, 'clock'> & {
  readonly db: Db
  readonly renderer: Pick<Renderer, 'renderMany' | 'compile' | 'validateForCampaign'>
}

/** A reason why a campaign cannot be sent. */
export interface StartBlocker {
  readonly code: string
  readonly message: string
  /** Of the message; absent: it has no code, such as an error of a template. */
  readonly translation?: Translation
  /** Whether the owner may send the campaign anyway. */
  readonly mayForce: boolean
}

export type StartResult = CampaignMoveResult | { readonly kind: 'blocked'; readonly blockers: readonly StartBlocker[] }

/** The content and sending domain of a valid campaign. */
export interface SendableCampaign {
  readonly content: NewContent
  readonly domainId: string
}

export interface CampaignValidation {
  /** Null if a blocker says why. */
  readonly sendable: SendableCampaign | null
  readonly blockers: readonly StartBlocker[]
}

/** A blocker that cannot be forced. */
const unforceable = (code: string, message: string): StartBlocker => ({ code, message, mayForce: false })

const withCode = (code: string, text: CodedText): StartBlocker => ({
  ...unforceable(code, text.text),
  translation: translationOf(text),
})

const NO_CONTENT = withCode('no-content', findingText('no_content'))

export function startCampaign(ctx: StartDeps, name: CampaignKey): Promise<StartResult> {
  return validateAndMove(ctx, name, async (tx, campaign, { sendable, blockers }) => {
    // a refused move stores nothing
    if (!CAMPAIGN_MOVES.start.from.some((status) => status === campaign.status)) return moveCampaign(tx, name, 'start')
    return sendable === null
      ? { kind: 'blocked', blockers }
      : sendNow(ctx, tx, campaign, { name, sendable, isRecipientTime: false })
  })
}

type ValidatedMove = (tx: Queryable, campaign: Campaign, validation: CampaignValidation) => Promise<StartResult>

/** Validation takes a while; a campaign that changes during every attempt is refused. */
const MAX_ATTEMPTS = 5
const KEEPS_CHANGING = unforceable('changing', 'the campaign changed during validation; try again')

/** Validates the campaign and moves it under its lock. Validates again if it changed in between. */
export async function validateAndMove(
  ctx: StartDeps,
  { workspaceId, id }: CampaignKey,
  move: ValidatedMove,
): Promise<StartResult> {
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    const campaign = await findCampaign(ctx.db, workspaceId, id)
    if (campaign === null) return { kind: 'not-found' }
    const validation = await validateCampaign(ctx, workspaceId, campaign)
    const result = await ctx.db.transaction(async (tx) => {
      await tx.query('SELECT FROM campaigns WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE', [workspaceId, id])
      return isDeepStrictEqual(await findCampaign(tx, workspaceId, id), campaign)
        ? move(tx, campaign, validation)
        : null
    })
    if (result !== null) return result
  }
  return { kind: 'blocked', blockers: [KEEPS_CHANGING] }
}

interface SendOptions {
  readonly name: CampaignKey
  readonly sendable: SendableCampaign
  /** Send at the scheduled local time of each recipient; otherwise now, or spread from now on. */
  readonly isRecipientTime: boolean
}

export async function sendNow(
  { clock }: Pick<Context, 'clock'>,
  tx: Queryable,
  { subjectB, spreadMinutes }: Campaign,
  { name, sendable, isRecipientTime }: SendOptions,
): Promise<CampaignMoveResult> {
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

/** Validates content, sender and audiences. */
export async function validateCampaign(
  ctx: Omit<StartDeps, 'clock'>,
  workspaceId: string,
  campaign: Campaign,
): Promise<CampaignValidation> {
  const [contentOrBlocker, domainId, hasAudience] = await Promise.all([
    loadContent(ctx, workspaceId, campaign),
    findSendingDomain(ctx.db, workspaceId, campaign.fromEmail),
    hasLiveAudience(ctx.db, workspaceId, campaign),
  ])
  const content = 'code' in contentOrBlocker ? null : contentOrBlocker
  const blockers = [
    ...('code' in contentOrBlocker ? [contentOrBlocker] : []),
    ...(domainId === null ? [withCode('sender-not-verified', findingText('sender_not_verified'))] : []),
    ...(hasAudience ? [] : [withCode('no-audience', findingText('no_audience'))]),
    ...(content === null ? [] : await validateSubjects(ctx, workspaceId, content, campaign.subjectB)),
  ]
  return {
    blockers,
    sendable:
      content === null || domainId === null || blockers.some(({ mayForce }) => !mayForce)
        ? null
        : { content, domainId },
  }
}

/**
 * Loads the latest version of the template, with the campaign's own subject if it has one, or compiles subject and
 * body.
 */
async function loadContent(
  ctx: Omit<StartDeps, 'clock'>,
  workspaceId: string,
  { templateId, subject, body, text }: Campaign,
): Promise<NewContent | StartBlocker> {
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
  const compiled = await compileInlineTemplate(ctx, workspaceId, { subject, body, text, format: null })
  if (!compiled.ok) return unforceable('template-broken', `the content cannot be rendered: ${compiled.reason}`)
  return { templateId: null, templateVersion: null, subject, html: compiled.html, text: compiled.text }
}

/** Validates both subjects of an A/B test. */
async function validateSubjects(
  ctx: Pick<StartDeps, 'renderer'>,
  workspaceId: string,
  content: NewContent,
  subjectB: string | null,
): Promise<StartBlocker[]> {
  const blockers = await validateContent(ctx, workspaceId, content)
  if (blockers.length > 0 || subjectB === null) return blockers
  const blockersOfB = await validateContent(ctx, workspaceId, { ...content, subject: subjectB })
  return blockersOfB.map((block) => ({ ...block, message: `with subject B of the test: ${block.message}` }))
}

/** Renders the content once with sample data, so that a broken template is found before a million messages fail. */
async function validateContent(
  { renderer }: Pick<StartDeps, 'renderer'>,
  workspaceId: string,
  { subject, html, text }: NewContent,
): Promise<StartBlocker[]> {
  const blockers = (await renderer.validateForCampaign(workspaceId, { subject, html, text })).map(({ rule, message }) =>
    rule === 'missing-unsubscribe-url'
      ? unforceable('no-unsubscribe-link', message)
      : unforceable('template-broken', message),
  )
  if (blockers.length > 0) return blockers
  // keyed by workspace: a paused template must not affect other workspaces
  const [rendered] = await renderer.renderMany({ key: `campaign:${workspaceId}`, subject, html, text }, [
    JSON.stringify(sampleVariables()),
  ])
  return rendered?.ok === false
    ? [
        {
          code: 'template-broken',
          message: `the template cannot be rendered with sample data: ${rendered.reason}`,
          mayForce: true,
        },
      ]
    : []
}

async function findSendingDomain(db: Queryable, workspaceId: string, from: string | null): Promise<string | null> {
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
