/**
 * The parts of the benchmark that run in processes of their own, by name. Every
 * method is asynchronous; parameters and results must be structured-cloneable.
 */
import { createLoad } from './load.ts'
import { createSink } from './sink.ts'
import { createBareServer } from './bare-server.ts'
import { createSource } from './source.ts'

export const ROLES = { sink: createSink, load: createLoad, source: createSource, bare: createBareServer }

export type Role = keyof typeof ROLES
export type Methods = { readonly [R in Role]: ReturnType<(typeof ROLES)[R]> }

/** The messages to the process and back. */
export interface RemoteCall {
  readonly id: number
  readonly method: string
  readonly args: readonly unknown[]
}
export interface RemoteReply {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}
