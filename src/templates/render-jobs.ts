/** What is said between the renderer and its threads. Several jobs travel together; a source that many of them share travels once. */
import type { Source } from './source.ts'

export interface RenderJob {
  /** A JSON object. */
  readonly params: string
}

export interface Batch<Job extends RenderJob> {
  readonly sources: readonly Source[]
  readonly jobs: readonly {
    /** Index into `sources`. */
    readonly source: number
    readonly job: Job
  }[]
}

/** Of one job, for the author of its template. */
export interface Failure {
  readonly ok: false
  readonly reason: string
  /** It was not even tried, and will be again after so long: nothing is known of this job. */
  readonly pausedMs?: number
}

/** In the order of the jobs. */
export interface Answers<Result> {
  readonly results: readonly Result[]
}

/**
 * Where the worker is, in one shared integer: 0 = between batches, else 1 + 3 * job + the place of its phase. It can be read while the
 * worker is stuck.
 */
export function stepOf(job: number, phase: Phase): number {
  return 1 + PHASES.length * job + PHASES.indexOf(phase)
}

/** `write` is what is made of a rendered mail in the same thread. */
const PHASES = ['compile', 'render', 'write'] as const
export type Phase = (typeof PHASES)[number]

export function readStep(step: number): { readonly job: number; readonly phase: Phase } | null {
  const phase = PHASES[(step - 1) % PHASES.length]
  return step === 0 || phase === undefined ? null : { job: Math.floor((step - 1) / PHASES.length), phase }
}
