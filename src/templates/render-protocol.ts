/**
 * Messages between the renderer and its threads. Several jobs form a batch; jobs with the same source share one copy of
 * it.
 */
import type { TemplateSource } from './template-source.ts'

export interface RenderJob {
  /** A JSON object. */
  readonly params: string
}

export interface RenderBatch<Job extends RenderJob> {
  readonly sources: readonly TemplateSource[]
  readonly jobs: readonly {
    /** Index into `sources`. */
    readonly source: number
    readonly job: Job
  }[]
}

/** Why one job failed, for the author of the template. */
export interface RenderFailure {
  readonly ok: false
  readonly reason: string
  /** The job was not attempted because its template is paused for this long; it says nothing about the job itself. */
  readonly pausedMs?: number
}

/** One result for each job, in the same order. */
export interface BatchResults<Result> {
  readonly results: readonly Result[]
}

/**
 * Encodes the worker's progress in one shared integer: 0 between batches, otherwise 1 + 3 * job + phase index. The
 * owner can read it while the worker is stuck.
 */
export function encodeProgress(job: number, phase: Phase): number {
  return 1 + PHASES.length * job + PHASES.indexOf(phase)
}

/** `write` builds the MIME message from the rendered parts in the same thread. */
const PHASES = ['compile', 'render', 'write'] as const
export type Phase = (typeof PHASES)[number]

export function decodeProgress(step: number): { readonly job: number; readonly phase: Phase } | null {
  const phase = PHASES[(step - 1) % PHASES.length]
  return step === 0 || phase === undefined ? null : { job: Math.floor((step - 1) / PHASES.length), phase }
}
