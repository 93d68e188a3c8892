/**
 * What shares one pace: a receiver whose sites go together, or one site of any other. Each of our source addresses has its own pace there.
 * The name is kept in Redis and PostgreSQL, so it is the same in every process.
 */
import type { Receiver } from './file.ts'

/** The one there is. */
export const ONLY_SOURCE = 'default'
/** Stands for every pace of a source. */
export const EVERYWHERE = '*'

/** `google`, or `default/mx.example.com`. */
export function paceKeyOf({ name, isProviderWide }: Pick<Receiver, 'name' | 'isProviderWide'>, site: string): string {
  return isProviderWide ? name : `${name}/${site}`
}
