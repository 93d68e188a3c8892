/** One job of a batch, in a worker thread: compiled where that was not done yet, and rendered, each step written down before it begins. */
import type { Engine } from './engine.ts'
import { type Batch, type RenderJob, stepOf } from './render-jobs.ts'
import type { Rendered } from './source.ts'

interface Hands {
  readonly engine: Engine
  /** Where the thread is (`stepOf`). */
  readonly progress: Int32Array
}

export function renderJob({ engine, progress }: Hands, batch: Batch<RenderJob>, index: number): Rendered {
  const entry = batch.jobs[index]
  const source = entry === undefined ? undefined : batch.sources[entry.source]
  if (entry === undefined || source === undefined) throw new Error(`job ${index} of the batch has no source`)
  if (!engine.has(source)) {
    Atomics.store(progress, 0, stepOf(index, 'compile'))
    const reason = engine.compile(source)
    if (reason !== null) return { ok: false, reason }
  }
  Atomics.store(progress, 0, stepOf(index, 'render'))
  return engine.render(source, entry.job.params)
}
