/**
 * Where templates are made ready: MJML, CSS and parsing run in a thread of their own, one job at a time, so that rendering mail never
 * waits for them, and workspaces in turn, so that no workspace waits for all that another brought. A job that takes too much time or memory is ended with its thread, and answers so; those behind it go on in a new one.
 * The thread starts when it is needed and goes when it was idle for a while: these libraries are large. Rejects only through our fault.
 */
import { createFairQueue } from '#src/concurrency/fair-queue.ts'
import type { FinishResult, Written } from './compile-template.ts'
import type { Partials } from './partials.ts'
import { type Limits, MEMORY, startThread, type Thread } from './render-thread.ts'
import type { Finding, Review, ReviewJob } from './review.ts'
import type { Source } from './source.ts'
import type { WorkshopAnswer, WorkshopJob } from './compile-thread-jobs.ts'

export interface Workshop {
  readonly finish: (workspaceId: string, written: Written, partials: Partials) => Promise<FinishResult>
  readonly review: (workspaceId: string, job: ReviewJob) => Promise<Review>
  readonly judge: (workspaceId: string, source: Omit<Source, 'key'>) => Promise<readonly Finding[]>
  stop(): Promise<void>
}

const WORKER = new URL('./compile-thread-worker.ts', import.meta.url)
/** Milliseconds of processor time for all of a job. */
const LIMITS: Limits = { compile: 3000, render: 3000 }
const ROOM = { ...MEMORY, maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
const IDLE_MS = 60_000
const MAX_CRASHES = 2

type Hands = Thread<WorkshopJob, WorkshopAnswer>
type Failed = { readonly ok: false; readonly reason: string }

export function createWorkshop(limits = LIMITS): Workshop {
  let thread: Hands | null = null
  let idle: NodeJS.Timeout | undefined
  let isStopped = false

  async function dismiss(): Promise<void> {
    clearTimeout(idle)
    const leaving = thread
    thread = null
    await leaving?.stop()
  }

  async function attempt(job: WorkshopJob): Promise<WorkshopAnswer | Failed | Error> {
    if (isStopped) throw new Error('the renderer was stopped')
    clearTimeout(idle)
    thread ??= startThread(WORKER, limits, ROOM)
    const ended = await thread.run(job)
    if (ended.kind !== 'done') thread = null
    idle = setTimeout(() => void dismiss(), IDLE_MS).unref()
    if (ended.kind === 'done') return ended.results[0] ?? new Error('the workshop answered nothing')
    return ended.kind === 'killed' ? { ok: false, reason: ended.reason } : ended.error
  }

  async function work(job: WorkshopJob): Promise<WorkshopAnswer | Failed> {
    for (let crashes = 1; ; crashes++) {
      const answer = await attempt(job)
      if (!(answer instanceof Error)) return answer
      if (crashes === MAX_CRASHES) throw answer
    }
  }

  const queue = createFairQueue(work)

  return {
    finish: async (workspaceId, written, partials) =>
      (await queue.add(workspaceId, { kind: 'finish', written, partials })) as FinishResult,
    review: async (workspaceId, job) => {
      const answer = (await queue.add(workspaceId, { kind: 'review', ...job })) as Review | Failed
      return 'ok' in answer ? { findings: [endedOf(answer)], text: null, size: 0 } : answer
    },
    judge: async (workspaceId, source) => {
      const answer = (await queue.add(workspaceId, { kind: 'judge', source })) as readonly Finding[] | Failed
      return 'ok' in answer ? [endedOf(answer)] : answer
    },
    async stop() {
      isStopped = true
      await dismiss()
    },
  }
}

function endedOf({ reason }: Failed): Finding {
  return { rule: 'cannot-be-saved', level: 'error', part: null, line: null, message: reason }
}
