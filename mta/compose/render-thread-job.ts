/**
 * The messages between the outbound process and the thread that renders campaigns and automations: plain data. A
 * rendered message returns ready to be signed; the thread has no keys.
 */
import type { RenderFailure, RenderJob } from '#src/templates/render-protocol.ts'
import type { TrackingPlan } from '#src/tracking/tracking-plan.ts'
import type { DkimDigest } from './digest.ts'
import type { Composed, Draft } from '#src/mime/draft.ts'

export interface MessageRenderJob extends RenderJob {
  /** The rest of the draft, around the rendered texts. */
  readonly frame: Omit<Draft, 'subject' | 'html' | 'text' | 'attachments' | 'raw'>
  /** Null: nothing is tracked. */
  readonly trackingPlan: TrackingPlan | null
}

export interface RenderedMessage extends Pick<Composed, 'head' | 'room' | 'needsSmtputf8'> {
  readonly body: Uint8Array
  readonly digest: DkimDigest
}

export type MessageRenderResult =
  | (RenderedMessage & { readonly ok: true })
  /** `isRendered`: the template was rendered, but the result cannot be composed. */
  | (RenderFailure & { readonly isRendered?: true })
