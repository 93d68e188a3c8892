/**
 * The compile thread: compiles and reviews templates, one job at a time. It has no secrets and no connections, so it
 * can be terminated at any time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine, type Engine } from './engine.ts'
import { compileTemplate } from './compile-template.ts'
import { type BatchResults, encodeProgress } from './render-protocol.ts'
import { validateForCampaign, review } from './review.ts'
import type { CompileJobResult, CompileJob } from './compile-protocol.ts'

const progress = workerData as Int32Array

async function handleJob(job: CompileJob): Promise<void> {
  Atomics.store(progress, 0, encodeProgress(0, 'compile'))
  const result = await runJob(job, createEngine())
  Atomics.store(progress, 0, 0)
  parentPort?.postMessage({ results: [result] } satisfies BatchResults<CompileJobResult>, [])
}

function runJob(job: CompileJob, engine: Engine): CompileJobResult | Promise<CompileJobResult> {
  if (job.kind === 'compile') return compileTemplate(engine, job.authored, job.partials)
  return job.kind === 'review' ? review(engine, job) : validateForCampaign(engine, job.source)
}

parentPort?.on('message', (job: CompileJob) => void handleJob(job))
