/**
 * What shares one pace: a receiver whose sites go together, or one site of any other, reached from one of our sources. Both names are kept
 * in Redis and PostgreSQL, so they are the same in every process.
 */
import type { Receiver } from './shaping-file.ts'

/** Has the pace where the system chooses the address, and of receivers that count all of our addresses together. */
export const ANY_SOURCE = 'default'
/** Stands for every pace of a source, or for every source of a pace. */
export const EVERYWHERE = '*'

/** `google`, or `default/mx.example.com`. */
export function paceKeyOf({ name, isProviderWide }: Pick<Receiver, 'name' | 'isProviderWide'>, site: string): string {
  return isProviderWide ? name : `${name}/${site}`
}

/** @param source the name of an egress source; null = the system's choice */
export function paceSourceOf({ isForAllSources }: Pick<Receiver, 'isForAllSources'>, source: string | null): string {
  return isForAllSources ? ANY_SOURCE : (source ?? ANY_SOURCE)
}

/** ` from <source>`, where a pace or what stops it is of one of ours; for people. */
export function fromText(source: string): string {
  return source === ANY_SOURCE || source === EVERYWHERE ? '' : ` from ${source}`
}
