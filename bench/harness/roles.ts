/**
 * The parts of the benchmark that run in processes of their own, one row each:
 * the name and what makes its methods. Every method answers with a promise and
 * takes and gives what structured clone can carry.
 */
import { createLoad } from './load.ts'
import { createSink } from './sink.ts'
import { createBare } from './bare-server.ts'
import { createSource } from './source.ts'

export const ROLES = { sink: createSink, load: createLoad, source: createSource, bare: createBare }

export type Role = keyof typeof ROLES
export type Methods = { readonly [R in Role]: ReturnType<(typeof ROLES)[R]> }

/** What travels to the process, and what comes back. */
export interface Call {
  readonly id: number
  readonly method: string
  readonly args: readonly unknown[]
}
export interface Reply {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}
