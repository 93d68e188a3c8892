/**
 * The DKIM keys a domain signs with now. Only the outbound process opens them; the API never reads one back.
 * The cache answers for a few seconds without asking, so a removed domain stops sending within that time.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/db.ts'

export interface SigningKey {
  readonly keyId: string
  readonly domain: string
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** Opens the seal; PKCS#8 DER. */
  readonly privateKey: () => Buffer
}

const LOAD = prepared('signing-keys-load', `
SELECT d.domain, k.id, k.selector, k.algorithm, k.private_key FROM domains d LEFT JOIN dkim_keys k ON k.domain_id = d.id AND k.is_active
WHERE d.id = $1 AND d.verification_status IN ('verified', 'degraded') ORDER BY k.algorithm DESC`)

/** Null when the domain is gone or may not send; RSA first, which every verifier knows. */
export async function loadSigningKeys(ctx: Context, domainId: string): Promise<SigningKey[] | null> {
  const { rows } = await ctx.db.query<{ domain: string; id: string | null; selector: string; algorithm: SigningKey['algorithm']; private_key: Buffer }>(LOAD, [domainId])
  if (rows.length === 0) return null
  return rows.flatMap((row) => row.id === null ? [] : [{
    keyId: row.id, domain: row.domain, selector: row.selector, algorithm: row.algorithm, privateKey: () => ctx.vault.open('dkim', row.private_key),
  }])
}

const FRESH_MS = 5000

export interface KeyCache {
  find(domainId: string): Promise<SigningKey[] | null>
}

/** One question to PostgreSQL for each domain every few seconds, however many messages ask. A question that fails is not remembered. */
export function createKeyCache(ctx: Context): KeyCache {
  const kept = new Map<string, { readonly keys: Promise<SigningKey[] | null>; readonly untilMs: number }>()
  return {
    find: (domainId) => {
      const now = ctx.clock.now()
      const known = kept.get(domainId)
      if (known !== undefined && now < known.untilMs) return known.keys
      const keys = loadSigningKeys(ctx, domainId)
      keys.catch(() => kept.delete(domainId))
      kept.set(domainId, { keys, untilMs: now + FRESH_MS })
      if (kept.size > 10_000) kept.clear()
      return keys
    },
  }
}
