/**
 * Templates are rendered in worker threads: whoever writes one can make it run for ever or grow without end, and then only its own
 * thread dies, its own render answers `{ok: false, reason}`, and the renders that waited behind it are done by the next thread.
 * A template that was killed several times in a row is left alone for a while. Rejects only when rendering is broken on our side.
 */
import type { FinishResult, Written } from './compile-template.ts'
import type { Partials } from './partials.ts'
import { createRenderGuard } from './render-guard.ts'
import type { RenderJob } from './render-jobs.ts'
import type { Limits } from './render-thread.ts'
import type { Finding, Review, ReviewJob } from './review.ts'
import type { Rendered, Source } from './source.ts'
import { createWorkshop } from './compile-thread.ts'

export interface RenderRequest {
  readonly template: { readonly id: string; readonly version: number } & Omit<Source, 'key'>
  readonly params: Readonly<Record<string, unknown>>
}

export interface Renderer {
  /** `reason` is for the author of the template; it names part and line where that is known. */
  render(request: RenderRequest): Promise<Rendered>
  /**
   * One source for many: it is compiled once, and travels once for each batch. `params` are JSON objects; the answers are in their order.
   * Each fails by itself.
   */
  renderMany(source: Source, params: readonly string[]): Promise<readonly Rendered[]>
  /** What an author wrote, made ready to be rendered; or why it cannot be. Another thread's work: it holds up no rendering. */
  readonly finish: (workspaceId: string, written: Written, partials: Partials) => Promise<FinishResult>
  /** What keeps a finished source from being the mail of a campaign. */
  readonly judge: (workspaceId: string, source: Omit<Source, 'key'>) => Promise<readonly Finding[]>
  /** What is worth knowing before it is sent. */
  readonly review: (workspaceId: string, job: ReviewJob) => Promise<Review>
  stop(): Promise<void>
}

interface RendererOptions {
  readonly threads?: number
  readonly limits?: Limits
  /** Of finishing and reviewing. */
  readonly workshopLimits?: Limits
}

/** Milliseconds of processor time. Compiling happens once for each version of a template in each thread. */
const LIMITS: Limits = { compile: 1000, render: 250 }
const THREADS = 2
const WORKER = new URL('./render-worker.ts', import.meta.url)

/** Threads start when they are first needed. */
export function createRenderer(options: RendererOptions = {}): Renderer {
  const workshop = createWorkshop(options.workshopLimits)
  const guard = createRenderGuard<RenderJob, Rendered>({
    worker: WORKER,
    threads: options.threads ?? THREADS,
    limits: options.limits ?? LIMITS,
  })
  const renderOne = async (source: Source, params: string | null): Promise<Rendered> => {
    const made = await guard.make(source, { params })
    return made.ok ? made : { ok: false, reason: made.reason }
  }
  return {
    render: ({ template: { id, version, subject, html, text }, params }) =>
      renderOne(
        { key: `${id}:${version}:${html === null ? '' : 'h'}${text === null ? '' : 't'}`, subject, html, text },
        toJson(params),
      ),
    renderMany: (source, params) => Promise.all(params.map((json) => renderOne(source, json))),
    finish: workshop.finish,
    judge: workshop.judge,
    review: workshop.review,
    stop: async () => {
      await Promise.all([guard.stop(), workshop.stop()])
    },
  }
}

/** Null for what is too deep to be params. */
function toJson(params: unknown): string | null {
  try {
    return JSON.stringify(params)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
