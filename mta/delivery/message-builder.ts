/**
 * Builds the message of one claimed recipient as it goes over the wire. Stored content is tracked, composed and
 * signed; deferred content (campaigns, automations) is rendered, tracked and composed in a thread
 * (compose/render-thread.ts) and signed here. A message that cannot be built is an outcome of this recipient only.
 * Rejects when a store is away: the message waits, because its content must not depend on that. Each attempt for a
 * recipient sends the same octets.
 */
import type { Composed, Draft } from '#src/mime/draft.ts'
import type { MessageRenderResult } from '#mta/compose/render-thread-job.ts'
import type { DkimKey } from '#mta/compose/sign.ts'
import { trackDraft } from '#mta/compose/tracked-draft.ts'
import type { Mail } from '#mta/smtp/transaction.ts'
import type { UnrenderableMessage } from '#src/deferred-content/deferred-content.ts'
import { bodiesOf, type ClaimedRecipient } from '#src/messages/claim.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { senderIdOf, type Links, type MailRef } from '#src/tracking/links.ts'
import { resolveTracking, type MailOrigin, type TrackingCache } from '#src/tracking/settings.ts'
import { type TrackingPlan, trackingEditsOf } from '#src/tracking/tracking-plan.ts'
import type { DeliveryPipeline } from './delivery-pipeline.ts'
import { withFeedbackFields, withFeedbackHeaders } from './feedback-fields.ts'

export type BuiltMessage = { readonly kind: 'built' } & Pick<Mail, 'data' | 'smtputf8'>
export type Unbuildable = { readonly kind: 'ended'; readonly outcome: Outcome }

type BuilderSteps = Pick<
  DeliveryPipeline,
  | 'texts'
  | 'attachments'
  | 'planTracking'
  | 'bulkHeaders'
  | 'feedbackFields'
  | 'compose'
  | 'sign'
  | 'seal'
  | 'fillIn'
  | 'messageRenderer'
  | 'now'
>

export async function buildMessage(
  pipeline: BuilderSteps,
  claimed: ClaimedRecipient,
  keys: readonly DkimKey[],
): Promise<BuiltMessage | Unbuildable> {
  const { deferredContent } = claimed
  return deferredContent === null
    ? buildStored(pipeline, claimed, keys)
    : buildDeferred(pipeline, { ...claimed, deferredContent }, keys)
}

async function buildStored(
  pipeline: BuilderSteps,
  claimed: ClaimedRecipient,
  keys: readonly DkimKey[],
): Promise<BuiltMessage | Unbuildable> {
  const draft = await loadDraft(pipeline, claimed)
  if (draft === null) return contentGone()
  const mayAddHeaders = claimed.tier === 'bulk' && draft.raw === null
  const listHeaders = mayAddHeaders ? await pipeline.bulkHeaders(claimed) : []
  const plan = draft.html === null && draft.raw === null ? null : await pipeline.planTracking(claimed)
  const composed = await compose(pipeline, { draft, listHeaders, plan })
  if ('kind' in composed) return composed
  const complete = withFeedbackFields(composed, pipeline.feedbackFields(claimed))
  const forward = claimed.submitted?.forward
  const isUrgent = claimed.tier === 'instant'
  // clients have always sent 8-bit headers without requesting SMTPUTF8, and servers have always accepted them
  const mayNeedUtf8 = draft.raw === null || claimed.submitted?.isUtf8 === true
  return {
    kind: 'built',
    data: await (forward === undefined
      ? pipeline.sign(complete, keys, isUrgent)
      : pipeline.seal(complete, keys, forward.arc)),
    smtputf8: (composed.needsSmtputf8 && mayNeedUtf8) || !isAscii(claimed.address),
  }
}

export type BulkRecipient = Pick<ClaimedRecipient, 'messageId' | 'n' | 'workspaceId' | 'address'>

/** Null: the content is no longer stored. */
async function loadDraft(pipeline: BuilderSteps, { content, messageId }: ClaimedRecipient): Promise<Draft | null> {
  const texts = content.isLarge ? await pipeline.texts(messageId) : bodiesOf(content)
  if (texts.isBodyGone) return null
  const attachments = content.hasAttachments ? await pipeline.attachments(messageId) : []
  if (content.hasAttachments && attachments.length === 0) return null
  return { ...content, ...texts, messageId, attachments }
}

interface MessageParts {
  readonly draft: Draft
  /** One-click unsubscribe of bulk mail (RFC 8058). */
  readonly listHeaders: Draft['headers']
  readonly plan: TrackingPlan | null
}

/** What is stored may be damaged: that fails this message only. */
async function compose(
  pipeline: BuilderSteps,
  { draft, listHeaders, plan }: MessageParts,
): Promise<Composed | Unbuildable> {
  try {
    const listed = withListHeaders(draft, listHeaders)
    return await pipeline.compose(plan === null ? listed : trackDraft(listed, trackingEditsOf(plan)))
  } catch (error) {
    return cannotCompose(error instanceof Error ? error.message : String(error))
  }
}

/** A sender that has headers of its own keeps them. */
function withListHeaders(draft: Draft, listHeaders: Draft['headers']): Draft {
  if (listHeaders.length === 0) return draft
  const hasOwn = draft.headers.some(([name]) => /^list-unsubscribe(?:-post)?$/i.test(name))
  return hasOwn ? draft : { ...draft, headers: [...draft.headers, ...listHeaders] }
}

type ClaimedDeferred = ClaimedRecipient & { readonly deferredContent: NonNullable<ClaimedRecipient['deferredContent']> }

async function buildDeferred(
  pipeline: BuilderSteps,
  claimed: ClaimedDeferred,
  keys: readonly DkimKey[],
): Promise<BuiltMessage | Unbuildable> {
  const filled = await pipeline.fillIn(claimed)
  if (filled.kind !== 'filled') return unfillable(filled)
  const { messageId, content, address } = claimed
  const { createdAt, from, replyTo, to, cc } = content
  const own = [...content.headers, ...filled.headers]
  const headers = withFeedbackHeaders(own, pipeline.feedbackFields(claimed))
  const rendered = await pipeline.messageRenderer.render(filled.source, {
    params: filled.params,
    frame: { messageId, createdAt, from, replyTo, to, cc, headers },
    trackingPlan: await pipeline.planTracking(claimed),
  })
  if (!rendered.ok) return unrendered(rendered, pipeline.now())
  return {
    kind: 'built',
    data: await pipeline.sign(rendered, keys, claimed.tier === 'instant'),
    smtputf8: rendered.needsSmtputf8 || !isAscii(address),
  }
}

/**
 * A template that hung for other recipients is paused for a while: that says nothing about this message, so it waits.
 */
function unrendered(
  { reason, isRendered, pausedMs }: Extract<MessageRenderResult, { ok: false }>,
  nowMs: number,
): Unbuildable {
  if (pausedMs === undefined)
    return isRendered === true ? cannotCompose(reason) : unfillable({ kind: 'cannot-render', reason })
  const untilMs = nowMs + Math.ceil(pausedMs)
  return ended({ kind: 'postponed', reason: 'template', detail: `its template: ${reason}`, untilMs })
}

function unfillable(problem: UnrenderableMessage): Unbuildable {
  if (problem.kind === 'contact-gone')
    return ended({ kind: 'failed', reason: 'contact-gone', detail: 'the contact was deleted' })
  const detail = `the template cannot be rendered for this contact: ${problem.reason}`
  return ended({ kind: 'failed', reason: 'cannot-render', detail })
}

/** It was deleted while the message was still to be sent; a mail without its text would be worse than none. */
function contentGone(): Unbuildable {
  return ended({
    kind: 'failed',
    reason: 'content-gone',
    detail: 'the text or the attachments of the message are no longer stored; send the message again',
  })
}

function cannotCompose(reason: string): Unbuildable {
  return ended({
    kind: 'failed',
    reason: 'cannot-compose',
    detail: `the message could not be composed: ${reason}`,
  })
}

function ended(outcome: Outcome): Unbuildable {
  return { kind: 'ended', outcome }
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}

export type TrackedRecipient = Pick<
  ClaimedRecipient,
  'messageId' | 'n' | 'workspaceId' | 'domainId' | 'deferredContent' | 'submitted' | 'trackOpens' | 'trackClicks'
>

/**
 * Plans the tracking of one recipient's message; null: nothing is tracked. Untracked mail costs one read of a cached
 * setting.
 */
export type TrackingPlanner = (recipient: TrackedRecipient) => Promise<TrackingPlan | null>

export function createTrackingPlanner(links: Links, tracking: TrackingCache): TrackingPlanner {
  return async (recipient) => {
    const { trackOpens: opens, trackClicks: clicks, workspaceId, messageId, n } = recipient
    if (opens === false && clicks === false) return null
    const workspace = await tracking.find(workspaceId)
    const tracked = resolveTracking(originOf(recipient), { opens, clicks }, workspace)
    if (!tracked.opens && !tracked.clicks) return null
    const ids = { messageId, n, workspaceId, senderId: senderIdOf(recipient), contactId: null, audienceId: null }
    const ref: MailRef = { base: workspace.base, ...ids }
    return {
      pixel: tracked.opens ? links.open(ref) : null,
      isPixelOptional: !tracked.areOpensRequested,
      clickSigner: tracked.clicks ? links.clickSigner(ref) : null,
    }
  }
}

function originOf({ deferredContent, submitted }: TrackedRecipient): MailOrigin {
  if (deferredContent !== null) return 'marketing'
  return submitted === null ? 'api' : 'submission'
}
