/**
 * What is said between those who send the mail of campaigns and automations and the thread that writes it: plain data. A letter comes back
 * ready to be signed; the thread has no keys.
 */
import type { Failure, RenderJob } from '#src/templates/render-jobs.ts'
import type { MarkOrder } from '#src/tracking/tracking-plan.ts'
import type { Digest } from './digest.ts'
import type { Composed, Draft } from './draft.ts'

export interface LetterJob extends RenderJob {
  /** What stands around the rendered texts. */
  readonly frame: Omit<Draft, 'subject' | 'html' | 'text' | 'attachments' | 'raw'>
  /** Null: nothing is tracked. */
  readonly marks: MarkOrder | null
}

export interface Letter extends Pick<Composed, 'head' | 'needsSmtputf8'> {
  readonly body: Uint8Array
  readonly digest: Digest
}

export type Written =
  | (Letter & { readonly ok: true })
  /** `isRendered`: it was rendered, and no message can be made of it. */
  | (Failure & { readonly isRendered?: true })
