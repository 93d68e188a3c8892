/**
 * What stands between those who want something rendered and the threads: params that are too large are not even sent, and a template that
 * was killed several times in a row is left alone for a while, because each time costs everybody else a thread.
 */
import type { Failure, RenderJob } from './render-jobs.ts'
import { type PoolOptions, RenderPool } from './render-pool.ts'
import type { Source } from './source.ts'

export interface RenderGuard<Job extends RenderJob, Result> {
  /** Params that are null are too deep to be any. Rejects only when rendering is broken on our side. */
  make(source: Source, job: Omit<Job, 'params'> & { readonly params: string | null }): Promise<Result | Failure>
  stop(): Promise<void>
}

const MAX_PARAMS = 1_000_000
const STRIKES = 3
const PAUSE_MS = 10_000
const MAX_STRUCK = 1000
const TOO_LARGE: Failure = { ok: false, reason: `params are nested too deeply or larger than ${MAX_PARAMS} characters` }
const PAUSED = `it took too long ${STRIKES} times in a row and is not tried again for ${PAUSE_MS / 1000} s`

/** Threads start when they are first needed. */
export function createRenderGuard<Job extends RenderJob, Result extends object>(
  options: PoolOptions,
): RenderGuard<Job, Result> {
  const pool = new RenderPool<Job, Result>(options)
  const strikes = new Strikes()
  return {
    make: async (source, job) => {
      const pausedMs = strikes.pausedMs(source.key)
      if (pausedMs > 0) return { ok: false, reason: PAUSED, pausedMs }
      if (job.params === null || job.params.length > MAX_PARAMS) return TOO_LARGE
      const answer = await pool.add(source, job as Job)
      const wasKilled = 'wasKilled' in answer
      strikes.count(source.key, wasKilled)
      return wasKilled ? { ok: false, reason: answer.reason } : answer
    },
    stop: () => pool.stop(),
  }
}

/** How often in a row a template was killed. */
class Strikes {
  private readonly struck = new Map<string, { count: number; untilMs: number }>()

  count(key: string, wasKilled: boolean): void {
    if (!wasKilled) {
      this.struck.delete(key)
      return
    }
    if (this.struck.size >= MAX_STRUCK) this.struck.clear()
    const count = (this.struck.get(key)?.count ?? 0) + 1
    this.struck.set(key, { count, untilMs: count >= STRIKES ? performance.now() + PAUSE_MS : 0 })
  }

  /** For how long it is left alone from now on; 0: it is not. */
  pausedMs(key: string): number {
    return Math.max(0, (this.struck.get(key)?.untilMs ?? 0) - performance.now())
  }
}
