/** The workshop's thread: finishes and reviews, one after the other. It holds no secrets and no connections, and may be killed any time. */
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine, type Engine } from './engine.ts'
import { finish } from './compile-template.ts'
import { type Answers, stepOf } from './render-jobs.ts'
import { judge, review } from './review.ts'
import type { WorkshopAnswer, WorkshopJob } from './compile-thread-jobs.ts'

const progress = workerData as Int32Array

async function carryOut(job: WorkshopJob): Promise<void> {
  Atomics.store(progress, 0, stepOf(0, 'compile'))
  const answer = await answerTo(job, createEngine())
  Atomics.store(progress, 0, 0)
  parentPort?.postMessage({ results: [answer] } satisfies Answers<WorkshopAnswer>, [])
}

function answerTo(job: WorkshopJob, engine: Engine): WorkshopAnswer | Promise<WorkshopAnswer> {
  if (job.kind === 'finish') return finish(engine, job.written, job.partials)
  return job.kind === 'review' ? review(engine, job) : judge(engine, job.source)
}

parentPort?.on('message', (job: WorkshopJob) => void carryOut(job))
