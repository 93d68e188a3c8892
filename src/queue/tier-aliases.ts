/**
 * Names that clients use for a tier: `priority` of a scheduled message, `tier` of a batch, `X-Priority-Tier` of a
 * message.
 */
import type { Tier } from './tiers.ts'

const TIER_BY_ALIAS: Readonly<Record<string, Tier>> = {
  instant: 'instant',
  high: 'high',
  normal: 'normal',
  async: 'normal',
  queue: 'normal',
  bulk: 'bulk',
  low: 'bulk',
}

export const TIER_ALIASES = Object.keys(TIER_BY_ALIAS)

/** Case-insensitive; null for an unknown name. */
export function tierOf(word: string): Tier | null {
  const key = word.toLowerCase()
  return Object.hasOwn(TIER_BY_ALIAS, key) ? (TIER_BY_ALIAS[key] ?? null) : null
}
