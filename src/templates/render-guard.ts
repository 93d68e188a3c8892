/**
 * Protects the render threads: rejects params that are too large before they reach a thread, and pauses a template for
 * a while after it was terminated several times in a row, because each termination costs all other jobs a thread.
 */
import type { RenderFailure, RenderJob } from './render-protocol.ts'
import { type PoolOptions, RenderPool } from './render-pool.ts'
import type { TemplateSource } from './template-source.ts'

export interface RenderGuard<Job extends RenderJob, Result> {
  /** `params: null` means that they are nested too deeply. Rejects only on internal errors. */
  render(
    source: TemplateSource,
    job: Omit<Job, 'params'> & { readonly params: string | null },
  ): Promise<Result | RenderFailure>
  stop(): Promise<void>
}

const MAX_PARAMS = 1_000_000
const KILLS_BEFORE_PAUSE = 3
const PAUSE_MS = 10_000
const MAX_TRACKED_TEMPLATES = 1000
const TOO_LARGE: RenderFailure = {
  ok: false,
  reason: `params are nested too deeply or larger than ${MAX_PARAMS} characters`,
}
const PAUSED = `rendering was terminated ${KILLS_BEFORE_PAUSE} times in a row; retry after ${PAUSE_MS / 1000} s`

/** Threads start on demand. */
export function createRenderGuard<Job extends RenderJob, Result extends object>(
  options: PoolOptions,
): RenderGuard<Job, Result> {
  const pool = new RenderPool<Job, Result>(options)
  const kills = new KillCounter()
  return {
    render: async (source, job) => {
      const pausedMs = kills.pausedMs(source.key)
      if (pausedMs > 0) return { ok: false, reason: PAUSED, pausedMs }
      if (job.params === null || job.params.length > MAX_PARAMS) return TOO_LARGE
      const result = await pool.add(source, job as Job)
      const wasKilled = 'wasKilled' in result
      kills.record(source.key, wasKilled)
      return wasKilled ? { ok: false, reason: result.reason } : result
    },
    stop: () => pool.stop(),
  }
}

/** Counts how often in a row a template was terminated. */
class KillCounter {
  private readonly entries = new Map<string, { record: number; untilMs: number }>()

  record(key: string, wasKilled: boolean): void {
    if (!wasKilled) {
      this.entries.delete(key)
      return
    }
    if (this.entries.size >= MAX_TRACKED_TEMPLATES) this.entries.clear()
    const count = (this.entries.get(key)?.record ?? 0) + 1
    this.entries.set(key, { record: count, untilMs: count >= KILLS_BEFORE_PAUSE ? performance.now() + PAUSE_MS : 0 })
  }

  /** Remaining pause in milliseconds; 0 if the template is not paused. */
  pausedMs(key: string): number {
    return Math.max(0, (this.entries.get(key)?.untilMs ?? 0) - performance.now())
  }
}
