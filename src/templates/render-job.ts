/**
 * Runs one job of a batch in a worker thread: compiles the source if it is not cached, then renders it. The progress
 * counter is updated before each step.
 */
import type { Engine } from './engine.ts'
import { type RenderBatch, type RenderJob, encodeProgress } from './render-protocol.ts'
import type { RenderResult } from './template-source.ts'

interface RenderThreadState {
  readonly engine: Engine
  /** Current step of the thread (`encodeProgress`). */
  readonly progress: Int32Array
}

export function renderJob(
  { engine, progress }: RenderThreadState,
  batch: RenderBatch<RenderJob>,
  index: number,
): RenderResult {
  const entry = batch.jobs[index]
  const source = entry === undefined ? undefined : batch.sources[entry.source]
  if (entry === undefined || source === undefined) throw new Error(`job ${index} of the batch has no source`)
  if (!engine.has(source)) {
    Atomics.store(progress, 0, encodeProgress(index, 'compile'))
    const reason = engine.compile(source)
    if (reason !== null) return { ok: false, reason }
  }
  Atomics.store(progress, 0, encodeProgress(index, 'render'))
  return engine.render(source, entry.job.params)
}
