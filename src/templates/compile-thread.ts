/**
 * Runs template compilation (MJML, CSS inlining, parsing) in a thread of its own, one job at a time, so that rendering
 * messages never waits for it. Jobs of different workspaces take turns, so no workspace waits for another workspace's
 * backlog.
 *
 * A job that exceeds its CPU time or memory is terminated together with the thread and returns a reason; the jobs
 * behind it continue in a new thread. The thread starts on demand and stops after a minute without jobs, because its
 * libraries are large. Promises reject only on internal errors.
 */
import { createFairQueue } from '#src/concurrency/fair-queue.ts'
import type { CompileResult, AuthoredTemplate } from './compile-template.ts'
import type { PartialBodies } from './partials.ts'
import { type CpuLimits, DEFAULT_MEMORY_LIMITS, startThread, type WorkerThread } from './render-thread.ts'
import type { ReviewFinding, Review, ReviewJob } from './review.ts'
import type { TemplateSource } from './template-source.ts'
import type { CompileJobResult, CompileJob } from './compile-protocol.ts'

export interface CompileThread {
  readonly compile: (workspaceId: string, authored: AuthoredTemplate, partials: PartialBodies) => Promise<CompileResult>
  readonly review: (workspaceId: string, job: ReviewJob) => Promise<Review>
  readonly validateForCampaign: (
    workspaceId: string,
    source: Omit<TemplateSource, 'key'>,
  ) => Promise<readonly ReviewFinding[]>
  stop(): Promise<void>
}

const WORKER = new URL('./compile-thread-worker.ts', import.meta.url)
/** CPU milliseconds for one complete job. */
const CPU_LIMITS: CpuLimits = { compile: 3000, render: 3000 }
const MEMORY_LIMITS = { ...DEFAULT_MEMORY_LIMITS, maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
const IDLE_MS = 60_000
const MAX_CRASHES = 2

type CompileWorker = WorkerThread<CompileJob, CompileJobResult>
type FailedJob = { readonly ok: false; readonly reason: string }

export function createCompileThread(limits = CPU_LIMITS): CompileThread {
  let thread: CompileWorker | null = null
  let idleTimer: NodeJS.Timeout | undefined
  let isStopped = false

  async function stopThread(): Promise<void> {
    clearTimeout(idleTimer)
    const stopping = thread
    thread = null
    await stopping?.stop()
  }

  async function runOnce(job: CompileJob): Promise<CompileJobResult | FailedJob | Error> {
    if (isStopped) throw new Error('the renderer was stopped')
    clearTimeout(idleTimer)
    thread ??= startThread(WORKER, limits, MEMORY_LIMITS)
    const outcome = await thread.run(job)
    if (outcome.kind !== 'done') thread = null
    idleTimer = setTimeout(() => void stopThread(), IDLE_MS).unref()
    if (outcome.kind === 'done') return outcome.results[0] ?? new Error('the compile thread returned no result')
    return outcome.kind === 'killed' ? { ok: false, reason: outcome.reason } : outcome.error
  }

  async function runJob(job: CompileJob): Promise<CompileJobResult | FailedJob> {
    for (let crashes = 1; ; crashes++) {
      const result = await runOnce(job)
      if (!(result instanceof Error)) return result
      if (crashes === MAX_CRASHES) throw result
    }
  }

  const queue = createFairQueue(runJob)

  return {
    compile: async (workspaceId, authored, partials) =>
      (await queue.add(workspaceId, { kind: 'compile', authored, partials })) as CompileResult,
    review: async (workspaceId, job) => {
      const result = (await queue.add(workspaceId, { kind: 'review', ...job })) as Review | FailedJob
      return 'ok' in result ? { findings: [failureFinding(result)], text: null, size: 0 } : result
    },
    validateForCampaign: async (workspaceId, source) => {
      const result = (await queue.add(workspaceId, { kind: 'validate', source })) as
        | readonly ReviewFinding[]
        | FailedJob
      return 'ok' in result ? [failureFinding(result)] : result
    },
    async stop() {
      isStopped = true
      await stopThread()
    },
  }
}

function failureFinding({ reason }: FailedJob): ReviewFinding {
  return { rule: 'cannot-be-saved', level: 'error', part: null, line: null, message: reason }
}
