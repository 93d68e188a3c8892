/** What is said between the renderer and its threads. Several jobs travel together; a source that many of them share travels once. */
import type { Source } from './source.ts'

export interface Batch {
  readonly sources: readonly Source[]
  readonly jobs: readonly {
    /** Index into `sources`. */
    readonly source: number
    /** A JSON object. */
    readonly params: string
  }[]
}

/** In the order of the jobs. */
export interface Answers<Result> { readonly results: readonly Result[] }

/**
 * Where the worker is, in one shared integer: 0 = between batches, else 1 + 2 * job + (0 compiling, 1 rendering).
 * It can be read while the worker is stuck.
 */
export function stepOf(job: number, phase: Phase): number {
  return 1 + 2 * job + (phase === 'render' ? 1 : 0)
}

export type Phase = 'compile' | 'render'

export function readStep(step: number): { readonly job: number; readonly phase: Phase } | null {
  return step === 0 ? null : { job: (step - 1) >> 1, phase: (step - 1) % 2 === 0 ? 'compile' : 'render' }
}
