/**
 * The worker thread: renders batch after batch, and writes down where it is before each step, so that whoever watches it can tell
 * which job hangs. It holds no secrets and no connections, and is killed without a word when a job takes too long or too much.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import { type Answers, type Batch, stepOf } from './render-jobs.ts'
import type { Rendered } from './source.ts'

const progress = workerData as Int32Array
const engine = createEngine()

function carryOut(batch: Batch, index: number): Rendered {
  const job = batch.jobs[index]
  const source = job === undefined ? undefined : batch.sources[job.source]
  if (job === undefined || source === undefined) throw new Error(`job ${index} of the batch has no source`)
  if (!engine.has(source)) {
    Atomics.store(progress, 0, stepOf(index, 'compile'))
    const reason = engine.compile(source)
    if (reason !== null) return { ok: false, reason }
  }
  Atomics.store(progress, 0, stepOf(index, 'render'))
  return engine.render(source, job.params)
}

parentPort?.on('message', (batch: Batch) => {
  const results = batch.jobs.map((_, index) => carryOut(batch, index))
  Atomics.store(progress, 0, 0)
  parentPort?.postMessage({ results } satisfies Answers<Rendered>, [])
})
