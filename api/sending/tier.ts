/** The names by which clients call a tier in a body (`priority` of a scheduled message, `tier` of a batch). */
import { z } from 'zod'
import type { Tier } from '#src/queue/tiers.ts'

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

/** `normal` when it is left out. */
export const tierName = z
  .string()
  .nullish()
  .meta({ enum: TIER_WORDS })
  .transform((given, sink): Tier => {
    const tier = NAMES[(given ?? '').toLowerCase() || 'normal']
    if (tier === undefined) sink.addIssue({ code: 'custom', message: `must be one of ${TIER_WORDS.join(', ')}` })
    return tier ?? 'normal'
  })
