/**
 * The key of a throttle: a receiver whose sites share their limits, or one site of any other receiver, and the source.
 * The names are stored in Redis and PostgreSQL, so they are the same in every process.
 */
import type { ShapingReceiver } from './shaping-file.ts'

/** The source of a throttle if the system chooses the address, or if the receiver counts all sources together. */
export const ANY_SOURCE = 'default'
/** Stands for every throttle of a source, or for every source of a throttle. */
export const WILDCARD = '*'

/** `google`, or `default/mx.example.com`. */
export function throttleKeyOf(
  { name, isProviderWide }: Pick<ShapingReceiver, 'name' | 'isProviderWide'>,
  site: string,
): string {
  return isProviderWide ? name : `${name}/${site}`
}

/** @param source the name of an egress source; null = the system chooses the address */
export function throttleSourceOf(
  { isForAllSources }: Pick<ShapingReceiver, 'isForAllSources'>,
  source: string | null,
): string {
  return isForAllSources ? ANY_SOURCE : (source ?? ANY_SOURCE)
}

/** ` from <source>` if the throttle or suspension belongs to one source; for messages to people. */
export function fromText(source: string): string {
  return source === ANY_SOURCE || source === WILDCARD ? '' : ` from ${source}`
}
