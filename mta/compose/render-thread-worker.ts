/**
 * The worker thread that renders messages: renders, tracks, composes and digests batch after batch. It records each
 * step before it begins, so that the guard can name the job that hangs. It has no connections and no secrets except
 * the click signers of its current jobs, and is killed without warning when a job uses too much time or memory.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from '#src/templates/engine.ts'
import { renderJob } from '#src/templates/render-job.ts'
import { type BatchResults, type RenderBatch, encodeProgress } from '#src/templates/render-protocol.ts'
import { trackingEditsOf } from '#src/tracking/tracking-plan.ts'
import { composeTexts } from '#src/mime/compose.ts'
import { digestOf } from './digest.ts'
import { InvalidDraftError, type Composed, type Draft } from '#src/mime/draft.ts'
import type { MessageRenderJob, MessageRenderResult, RenderedMessage } from './render-thread-job.ts'
import { trackDraft } from './tracked-draft.ts'

const progress = workerData as Int32Array
const engine = createEngine()

async function renderMessage(batch: RenderBatch<MessageRenderJob>, index: number): Promise<MessageRenderResult> {
  const rendered = renderJob({ engine, progress }, batch, index)
  const job = batch.jobs[index]?.job
  if (!rendered.ok || job === undefined) return rendered.ok ? { ok: false, reason: 'it is not there' } : rendered
  Atomics.store(progress, 0, encodeProgress(index, 'write'))
  const { subject, html, text } = rendered
  try {
    return await composeMessage({ ...job.frame, subject, html, text, attachments: [], raw: null }, job)
  } catch (error) {
    if (error instanceof InvalidDraftError) return { ok: false, reason: error.message, isRendered: true }
    throw error
  }
}

async function composeMessage(draft: Draft, { trackingPlan }: MessageRenderJob): Promise<MessageRenderResult> {
  const composed = composeTexts(trackingPlan === null ? draft : trackDraft(draft, trackingEditsOf(trackingPlan)))
  const { head, needsSmtputf8 } = composed
  return { ok: true, head, needsSmtputf8, digest: await digestOf(composed), ...transferable(composed) }
}

/** A slice of a buffer that others share would transfer all of it. */
function transferable({ body, room }: Pick<Composed, 'body' | 'room'>): Pick<RenderedMessage, 'body' | 'room'> {
  const isOwn = body.buffer.byteLength === (room?.octets ?? 0) + body.length
  return isOwn && room !== undefined ? { body, room } : { body: new Uint8Array(body) }
}

parentPort?.on('message', (batch: RenderBatch<MessageRenderJob>) => void answer(batch))

async function answer(batch: RenderBatch<MessageRenderJob>): Promise<void> {
  const results: MessageRenderResult[] = []
  for (const index of batch.jobs.keys()) results.push(await renderMessage(batch, index))
  Atomics.store(progress, 0, 0)
  parentPort?.postMessage(
    { results } satisfies BatchResults<MessageRenderResult>,
    results.flatMap((one) => (one.ok ? [one.body.buffer as ArrayBuffer] : [])),
  )
}
