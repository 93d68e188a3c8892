/**
 * Renders templates in worker threads, because an author can write a template that never ends or grows without limit.
 * Only its own thread dies then, its own render returns `{ok: false, reason}`, and the next thread renders the jobs
 * behind it. A template that was terminated several times in a row is paused. Promises reject only on internal errors.
 */
import type { CompileResult, AuthoredTemplate } from './compile-template.ts'
import type { PartialBodies } from './partials.ts'
import { createRenderGuard } from './render-guard.ts'
import type { RenderJob } from './render-protocol.ts'
import type { CpuLimits } from './render-thread.ts'
import type { ReviewFinding, Review, ReviewJob } from './review.ts'
import type { RenderResult, TemplateSource } from './template-source.ts'
import { createCompileThreads } from './compile-threads.ts'

export interface RenderRequest {
  readonly template: { readonly id: string; readonly version: number } & Omit<TemplateSource, 'key'>
  readonly params: Readonly<Record<string, unknown>>
}

export interface Renderer {
  /** `reason` is a text for the author; it names part and line where they are known. */
  render(request: RenderRequest): Promise<RenderResult>
  /**
   * Renders one source with many params. The source is compiled once and sent once per batch. `params` are JSON
   * objects; the results have their order, and each fails by itself.
   */
  renderMany(source: TemplateSource, params: readonly string[]): Promise<readonly RenderResult[]>
  /** Compiles an authored template in a compile thread, without delaying any rendering. */
  readonly compile: (workspaceId: string, authored: AuthoredTemplate, partials: PartialBodies) => Promise<CompileResult>
  /** Lists the findings that prevent a campaign from using a compiled source. */
  readonly validateForCampaign: (
    workspaceId: string,
    source: Omit<TemplateSource, 'key'>,
  ) => Promise<readonly ReviewFinding[]>
  /** Whole seconds until the workspace may compile again; null: now. Its compilations are refused until then. */
  readonly compileWait: (workspaceId: string) => number | null
  /** Reviews an authored template. */
  readonly review: (workspaceId: string, job: ReviewJob) => Promise<Review>
  stop(): Promise<void>
}

interface RendererOptions {
  readonly threads?: number
  readonly limits?: CpuLimits
  /** Limits of the compile threads. */
  readonly compileLimits?: CpuLimits
}

/** CPU milliseconds. Each thread compiles a version of a template once. */
const RENDER_LIMITS: CpuLimits = { compile: 1000, render: 250 }
const THREADS = 2
const WORKER = new URL('./render-worker.ts', import.meta.url)

/** Threads start on demand. */
export function createRenderer(options: RendererOptions = {}): Renderer {
  const compileThreads = createCompileThreads(
    options.compileLimits === undefined ? {} : { limits: options.compileLimits },
  )
  const guard = createRenderGuard<RenderJob, RenderResult>({
    worker: WORKER,
    threads: options.threads ?? THREADS,
    limits: options.limits ?? RENDER_LIMITS,
  })
  const renderOne = async (source: TemplateSource, params: string | null): Promise<RenderResult> => {
    const result = await guard.render(source, { params })
    return result.ok ? result : { ok: false, reason: result.reason }
  }
  return {
    render: ({ template: { id, version, subject, html, text }, params }) =>
      renderOne(
        { key: `${id}:${version}:${html === null ? '' : 'h'}${text === null ? '' : 't'}`, subject, html, text },
        toJson(params),
      ),
    renderMany: (source, params) => Promise.all(params.map((json) => renderOne(source, json))),
    compile: compileThreads.compile,
    validateForCampaign: compileThreads.validateForCampaign,
    review: compileThreads.review,
    compileWait: compileThreads.wait,
    stop: async () => {
      await Promise.all([guard.stop(), compileThreads.stop()])
    },
  }
}

/** Null if `params` are nested too deeply. */
function toJson(params: unknown): string | null {
  try {
    return JSON.stringify(params)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
