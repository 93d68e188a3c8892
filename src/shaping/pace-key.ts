/**
 * What shares one pace: a receiver whose sites go together, or one site of any other. The name is kept in Redis and PostgreSQL, together
 * with the source that has the pace, so it is the same in every process.
 */
import type { Receiver } from './file.ts'

/** All of our addresses together: messages choose theirs only when they are sent. */
export const ONLY_SOURCE = 'default'
/** Stands for every pace of a source. */
export const EVERYWHERE = '*'

/** `google`, or `default/mx.example.com`. */
export function paceKeyOf({ name, isProviderWide }: Pick<Receiver, 'name' | 'isProviderWide'>, site: string): string {
  return isProviderWide ? name : `${name}/${site}`
}
