/** The tier in a request: in the body, or in the query of a request whose body is a list. */
import { z } from 'zod'
import { TIER_ALIASES, tierOf } from '#src/queue/tier-aliases.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

const given = z.string().nullish().meta({ enum: TIER_ALIASES })

/** Null if it is absent. */
export const optionalTier = given.transform((name, sink): Tier | null => {
  const tier = name ? tierOf(name) : null
  if (name && tier === null) sink.addIssue({ code: 'custom', message: oneOfText(TIER_ALIASES, name) })
  return tier
})

/** `normal` by default. */
export const tierName = optionalTier.transform((tier): Tier => tier ?? 'normal')
