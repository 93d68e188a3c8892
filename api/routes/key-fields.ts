/** Fields of requests that create or change API keys. */
import { z } from 'zod'
import { MAX_NETWORKS, parseNetwork } from '#src/auth/key-networks.ts'
import { ALL_SCOPES, type KeyScope } from '#src/auth/scopes.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'

export const keyName = z
  .string()
  .trim()
  .min(1, 'is required')
  .max(255, 'at most 255 characters')
  .regex(/^\P{Cc}*$/u, 'has control characters')

// a time without an offset is UTC, as in the whole API
export const keyExpiry = z.iso
  .datetime({ offset: true, local: true, error: 'must be a time such as 2031-05-04T10:00:00Z' })
  .transform((text) => new Date(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`))

/** Null, or the refusal of a time that is not in the future. */
export function checkExpiry(expiresAt: Date | null | undefined, nowMs: number): Refusal | null {
  const isPast = expiresAt !== null && expiresAt !== undefined && expiresAt.getTime() <= nowMs
  return isPast ? invalid([{ path: 'expires_at', message: 'must be in the future' }]) : null
}

/** Of an Admin key, each once. */
export const scopeList = z
  .array(z.enum(ALL_SCOPES as [KeyScope, ...KeyScope[]]))
  .min(1, 'name at least one')
  .transform((scopes) => [...new Set(scopes)])

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
