/**
 * Templates are rendered in worker threads: whoever writes one can make it run for ever or grow without end, and then only its own
 * thread dies, its own render answers `{ok: false, reason}`, and the renders that waited behind it are done by the next thread.
 * A template that was killed several times in a row is left alone for a while. Rejects only when rendering is broken on our side.
 */
import { RenderPool } from './render-pool.ts'
import type { Limits } from './render-thread.ts'
import type { Rendered } from './source.ts'

export interface RenderRequest {
  readonly template: { readonly id: string; readonly version: number; readonly subject: string; readonly body: string }
  readonly params: Readonly<Record<string, unknown>>
  /** False for a text body: nothing is escaped in it. True when not said. */
  readonly isHtml?: boolean
}

export type RenderResult = Rendered
export type CheckResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface Renderer {
  /** `reason` is for the author of the template; it names part and line where that is known. */
  render(request: RenderRequest): Promise<RenderResult>
  /** Whether a template may be saved: it can be parsed and compiled, and calls only helpers that exist. */
  check(template: { readonly subject: string; readonly body: string }): Promise<CheckResult>
  stop(): Promise<void>
}

interface RendererOptions {
  readonly threads?: number
  readonly limits?: Limits
}

/** Milliseconds of processor time. Compiling happens once for each version of a template in each thread. */
const LIMITS: Limits = { compile: 1000, render: 250 }
const THREADS = 2
const MAX_PARAMS = 1_000_000
const STRIKES = 3
const PAUSE_MS = 10_000
const MAX_STRUCK = 1000
const PAUSED = `it took too long ${STRIKES} times in a row and is not tried again for ${PAUSE_MS / 1000} s`

/** Threads start when they are first needed. */
export function createRenderer(options: RendererOptions = {}): Renderer {
  const pool = new RenderPool(options.threads ?? THREADS, options.limits ?? LIMITS)
  const strikes = new Strikes()
  return {
    async render({ template, params, isHtml = true }) {
      const key = `${template.id}:${template.version}${isHtml ? '' : ':text'}`
      if (strikes.isPaused(key)) return { ok: false, reason: PAUSED }
      const json = toJson(params)
      if (json === null) return { ok: false, reason: `params are nested too deeply or larger than ${MAX_PARAMS} characters` }
      const { wasKilled, ...result } = await pool.add({ key, subject: template.subject, body: template.body, isHtml }, json)
      strikes.count(key, wasKilled === true)
      return result
    },
    async check({ subject, body }) {
      const result = await pool.add({ key: 'check', subject, body, isHtml: true }, null)
      return result.ok ? { ok: true } : { ok: false, reason: result.reason }
    },
    stop: () => pool.stop(),
  }
}

/** Null for what is too deep or too large to be params. */
function toJson(params: unknown): string | null {
  try {
    const json = JSON.stringify(params)
    return json.length > MAX_PARAMS ? null : json
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** How often in a row a template was killed: each time costs everybody else a thread. */
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

  isPaused(key: string): boolean {
    return performance.now() < (this.struck.get(key)?.untilMs ?? 0)
  }
}
