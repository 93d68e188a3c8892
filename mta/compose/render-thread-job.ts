/**
 * What is said between those who send the mail of campaigns and automations and the thread that writes it: plain data. A letter comes back
 * ready to be signed; the thread has no keys.
 */
import type { RenderFailure, RenderJob } from '#src/templates/render-protocol.ts'
import type { TrackingPlan } from '#src/tracking/tracking-plan.ts'
import type { DkimDigest } from './digest.ts'
import type { Composed, Draft } from './draft.ts'

export interface MessageRenderJob extends RenderJob {
  /** What stands around the rendered texts. */
  readonly frame: Omit<Draft, 'subject' | 'html' | 'text' | 'attachments' | 'raw'>
  /** Null: nothing is tracked. */
  readonly trackingPlan: TrackingPlan | null
}

export interface RenderedMessage extends Pick<Composed, 'head' | 'needsSmtputf8'> {
  readonly body: Uint8Array
  readonly digest: DkimDigest
}

export type MessageRenderResult =
  | (RenderedMessage & { readonly ok: true })
  /** `isRendered`: it was rendered, and no message can be made of it. */
  | (RenderFailure & { readonly isRendered?: true })
