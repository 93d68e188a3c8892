/**
 * Runs template compilation (MJML, CSS inlining, parsing) in a few threads of its own, one job of a workspace at a
 * time, so that rendering messages never waits for it. Workspaces take turns, so no workspace waits for another
 * workspace's backlog, and none can occupy all threads. Each may use only so much CPU time in a minute
 * (compile-budget.ts) and have only so many jobs waiting; what exceeds that is refused at once, with a reason.
 *
 * A job that exceeds its CPU time or memory is terminated together with its thread and returns a reason; it is charged
 * to its workspace, and the jobs behind it continue in a new thread. Threads start on demand and stop after a minute
 * without jobs, because their libraries are large. Promises reject only on internal errors.
 */
import { createFairQueue } from '#src/concurrency/fair-queue.ts'
import { systemClock, type Clock } from '#src/platform/clock.ts'
import { createCompileBudget, type CompileBudget } from './compile-budget.ts'
import type { CompileResult, AuthoredTemplate } from './compile-template.ts'
import type { PartialBodies } from './partials.ts'
import { type CpuLimits, DEFAULT_MEMORY_LIMITS, startThread, type WorkerThread } from './render-thread.ts'
import type { ReviewFinding, Review, ReviewJob } from './review.ts'
import type { TemplateSource } from './template-source.ts'
import type { CompileJobResult, CompileJob } from './compile-protocol.ts'

export interface CompileThreads {
  readonly compile: (workspaceId: string, authored: AuthoredTemplate, partials: PartialBodies) => Promise<CompileResult>
  readonly review: (workspaceId: string, job: ReviewJob) => Promise<Review>
  readonly validateForCampaign: (
    workspaceId: string,
    source: Omit<TemplateSource, 'key'>,
  ) => Promise<readonly ReviewFinding[]>
  /** Whole seconds until the workspace may compile again; null: now. Jobs that come earlier are refused. */
  readonly wait: (workspaceId: string) => number | null
  stop(): Promise<void>
}

const WORKER = new URL('./compile-thread-worker.ts', import.meta.url)
/** CPU milliseconds for one complete job. */
const CPU_LIMITS: CpuLimits = { compile: 3000, render: 3000 }
const MEMORY_LIMITS = { ...DEFAULT_MEMORY_LIMITS, maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
/** Workspaces with expensive templates that together still leave a thread for others. */
const THREADS = 3
/** Jobs of one workspace. Saving a partial compiles the templates that use it one after the other. */
const MAX_WAITING = 20
const IDLE_MS = 60_000
const MAX_CRASHES = 2
/** What a terminated job costs its workspace, as a multiple of its limit. */
const KILLED_FACTOR = 2

type CompileWorker = WorkerThread<CompileJob, CompileJobResult>
interface IdleWorker {
  readonly thread: CompileWorker
  /** When its last job ended. */
  readonly cpuMs: number
}
type FailedJob = { readonly ok: false; readonly reason: string }

export interface CompileThreadOptions {
  /** CPU milliseconds for one complete job. */
  readonly limits?: CpuLimits
  readonly threads?: number
  readonly clock?: Clock
  readonly budget?: CompileBudget
}

/** Threads for one job each. */
interface ThreadPool {
  /** The CPU time that the job used; of one that was terminated its limit, `KILLED_FACTOR` times. */
  run(job: CompileJob): Promise<{ readonly result: CompileJobResult | FailedJob | Error; readonly cpuMs: number }>
  stop(): Promise<void>
}

function createThreadPool(limits: CpuLimits): ThreadPool {
  const all = new Set<CompileWorker>()
  const idle: IdleWorker[] = []
  let idleTimer: NodeJS.Timeout | undefined
  let isStopped = false

  async function stopThreads(stopping: readonly CompileWorker[]): Promise<void> {
    clearTimeout(idleTimer)
    for (const thread of stopping) all.delete(thread)
    await Promise.all(stopping.map((thread) => thread.stop()))
  }

  function startWorker(): IdleWorker {
    const thread: CompileWorker = startThread(WORKER, limits, MEMORY_LIMITS)
    all.add(thread)
    return { thread, cpuMs: 0 }
  }

  return {
    async run(job) {
      if (isStopped) throw new Error('the renderer was stopped')
      clearTimeout(idleTimer)
      const { thread, cpuMs: beforeMs } = idle.pop() ?? startWorker()
      const outcome = await thread.run(job)
      idleTimer = setTimeout(() => void stopThreads(idle.splice(0).map((one) => one.thread)), IDLE_MS).unref()
      if (outcome.kind === 'done') {
        const afterMs = await thread.cpuMs()
        idle.push({ thread, cpuMs: afterMs })
        const result = outcome.results[0] ?? new Error('the compile thread returned no result')
        return { result, cpuMs: Math.max(0, afterMs - beforeMs) }
      }
      all.delete(thread)
      if (outcome.kind === 'crashed') return { result: outcome.error, cpuMs: 0 }
      return { result: { ok: false, reason: outcome.reason }, cpuMs: KILLED_FACTOR * limits.compile }
    },
    async stop() {
      isStopped = true
      await stopThreads([...all])
    },
  }
}

export function createCompileThreads({
  limits = CPU_LIMITS,
  threads = THREADS,
  clock = systemClock,
  budget = createCompileBudget(clock),
}: CompileThreadOptions = {}): CompileThreads {
  const pool = createThreadPool(limits)

  async function runJob(job: CompileJob, workspaceId: string): Promise<CompileJobResult | FailedJob> {
    const seconds = budget.wait(workspaceId)
    if (seconds !== null) return tooMuch(seconds)
    for (let crashes = 1; ; crashes++) {
      const { result, cpuMs } = await pool.run(job)
      budget.charge(workspaceId, cpuMs)
      if (!(result instanceof Error)) return result
      if (crashes === MAX_CRASHES) throw result
    }
  }

  const queue = createFairQueue(runJob, threads)
  const wait = (workspaceId: string): number | null =>
    budget.wait(workspaceId) ?? (queue.waitingOf(workspaceId) < MAX_WAITING ? null : 1)
  const submit = (workspaceId: string, job: CompileJob): Promise<CompileJobResult | FailedJob> => {
    const seconds = wait(workspaceId)
    return seconds === null ? queue.add(workspaceId, job) : Promise.resolve(tooMuch(seconds))
  }

  return {
    compile: async (workspaceId, authored, partials) =>
      (await submit(workspaceId, { kind: 'compile', authored, partials })) as CompileResult,
    review: async (workspaceId, job) => {
      const result = (await submit(workspaceId, { kind: 'review', ...job })) as Review | FailedJob
      return 'ok' in result ? { findings: [failureFinding(result)], text: null, size: 0 } : result
    },
    validateForCampaign: async (workspaceId, source) => {
      const result = (await submit(workspaceId, { kind: 'validate', source })) as readonly ReviewFinding[] | FailedJob
      return 'ok' in result ? [failureFinding(result)] : result
    },
    wait,
    stop: () => pool.stop(),
  }
}

function tooMuch(seconds: number): FailedJob {
  return { ok: false, reason: `the templates of this workspace needed too much time; retry after ${seconds} s` }
}

function failureFinding({ reason }: FailedJob): ReviewFinding {
  return { rule: 'cannot-be-saved', level: 'error', part: null, line: null, message: reason }
}
