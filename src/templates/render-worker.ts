/**
 * The worker thread: renders batch after batch, and writes down where it is before each step, so that whoever watches it can tell
 * which job hangs. It holds no secrets and no connections, and is killed without a word when a job takes too long or too much.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import type { Answers, Batch, RenderJob } from './render-jobs.ts'
import { renderJob } from './render-job.ts'
import type { Rendered } from './source.ts'

const progress = workerData as Int32Array
const engine = createEngine()

parentPort?.on('message', (batch: Batch<RenderJob>) => {
  const results = batch.jobs.map((_, index) => renderJob({ engine, progress }, batch, index))
  Atomics.store(progress, 0, 0)
  parentPort?.postMessage({ results } satisfies Answers<Rendered>, [])
})
