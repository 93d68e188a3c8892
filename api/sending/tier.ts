/** The tier in a request body. */
import { z } from 'zod'
import { TIER_ALIASES, tierOf } from '#src/queue/tier-aliases.ts'
import type { Tier } from '#src/queue/tiers.ts'

/** `normal` by default. */
export const tierName = z
  .string()
  .nullish()
  .meta({ enum: TIER_ALIASES })
  .transform((given, sink): Tier => {
    const tier = tierOf(given || 'normal')
    if (tier === null) sink.addIssue({ code: 'custom', message: `must be one of ${TIER_ALIASES.join(', ')}` })
    return tier ?? 'normal'
  })
