/**
 * Decides which traces are recorded, once for each request or SMTP transaction; all that follows from it follows the
 * decision, which is stored with the message. Clients cannot force the recording: their flag may only prevent it,
 * unless the operator trusts all keys (`parentbased_traceidratio`). The decision is random and does not depend on the
 * trace id, which a client could choose so that it is always in the sample. Pure.
 */
import type { Config } from '#config/load.ts'
import type { ParsedTraceparent } from './traceparent.ts'

export type SamplingSettings = Pick<Config, 'tracesSampler' | 'traceRatio'>

/**
 * @param caller what a client with a valid key sent; null for nothing, and for all other clients
 * @param chance a random number from 0 to 1, without 1
 */
export function isSampled(
  { tracesSampler, traceRatio }: SamplingSettings,
  caller: ParsedTraceparent | null,
  chance: number,
): boolean {
  if (caller !== null && !caller.isSampled) return false
  if (caller !== null && tracesSampler === 'parentbased_traceidratio') return true
  return chance < traceRatio
}
