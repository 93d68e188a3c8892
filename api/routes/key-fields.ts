/** Fields of requests that create or change API keys. */
import { z } from 'zod'
import { MAX_NETWORKS, parseNetwork } from '#src/auth/key-networks.ts'

export const keyName = z
  .string()
  .trim()
  .min(1, 'is required')
  .max(255, 'at most 255 characters')
  .regex(/^\P{Cc}*$/u, 'has control characters')

const network = z
  .string()
  .max(64, 'is too long')
  .transform((text, sink) => {
    const parsed = parseNetwork(text)
    if (!parsed.ok) sink.addIssue({ code: 'custom', message: parsed.reason })
    return parsed.ok ? parsed.text : z.NEVER
  })

/** In canonical form, each once. */
export const networkList = z
  .array(network)
  .max(MAX_NETWORKS, `at most ${MAX_NETWORKS}`)
  .transform((texts) => [...new Set(texts)])
  .meta({ description: 'the networks it may be used from, in CIDR notation, such as 192.0.2.0/24; empty: everywhere' })
