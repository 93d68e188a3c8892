/**
 * The render thread: renders batch after batch and records its progress before each step, so that its owner can tell
 * which job hangs. It has no secrets and no connections. The owner terminates it without notice when a job exceeds its
 * limits.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import type { BatchResults, RenderBatch, RenderJob } from './render-protocol.ts'
import { renderJob } from './render-job.ts'
import type { RenderResult } from './template-source.ts'

const progress = workerData as Int32Array
const engine = createEngine()

parentPort?.on('message', (batch: RenderBatch<RenderJob>) => {
  const results = batch.jobs.map((_, index) => renderJob({ engine, progress }, batch, index))
  Atomics.store(progress, 0, 0)
  parentPort?.postMessage({ results } satisfies BatchResults<RenderResult>, [])
})
