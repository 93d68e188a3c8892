/** The names by which clients call a tier: `priority` of a scheduled message, `tier` of a batch, `X-Priority-Tier` of a mail. */
import type { Tier } from './tiers.ts'

const NAMES: Readonly<Record<string, Tier>> = {
  instant: 'instant',
  high: 'high',
  normal: 'normal',
  async: 'normal',
  queue: 'normal',
  bulk: 'bulk',
  low: 'bulk',
}

export const TIER_WORDS = Object.keys(NAMES)

/** In any case; null for a word that names none. */
export function tierOf(word: string): Tier | null {
  const key = word.toLowerCase()
  return Object.hasOwn(NAMES, key) ? (NAMES[key] ?? null) : null
}
