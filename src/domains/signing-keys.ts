/**
 * What sending needs to know of a domain: its DKIM keys, its bounce domain and its source pool. Only the outbound
 * process decrypts the keys; the API never reads one. Results are cached for a few seconds, so a removed domain stops
 * sending, and a new key starts to sign, within that time.
 */
import { REGIONS, type Region } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { sql } from '#src/stores/sql.ts'
import { mailFromDomainOf } from './records.ts'

export interface DomainSigningKey {
  readonly keyId: string
  readonly domain: string
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** Decrypts the key; PKCS#8 DER. */
  readonly privateKey: () => Buffer
}

export type SendingDomain =
  | {
      readonly kind: 'ready'
      /** RSA first, which every verifier supports. */
      readonly keys: readonly DomainSigningKey[]
      /** The domain's own bounce subdomain once its MX and SPF were seen; null: the operator's bounce domain. */
      readonly mailFrom: string | null
      /** The source pool: the domain's own, else its workspace's, else that of its region. */
      readonly pool: string
    }
  | { readonly kind: 'gone' }
  | { readonly kind: 'not-verified' }

interface Row {
  readonly domain: string
  readonly maySend: boolean
  readonly hasMailFrom: boolean
  readonly region: Region
  readonly egressPool: string | null
  readonly id: string | null
  readonly selector: string
  readonly algorithm: DomainSigningKey['algorithm']
  readonly private_key: Buffer
}

const LOAD = prepared(
  'signing-keys-load',
  sql`
    SELECT d.domain, d.verification_status IN ('verified', 'degraded') AS "maySend",
      d.mail_from_status = 'verified' AS "hasMailFrom", d.region,
      coalesce(d.egress_pool, w.egress_pool) AS "egressPool", k.id, k.selector, k.algorithm, k.private_key
    FROM domains d
    JOIN workspaces w ON w.id = d.workspace_id
    LEFT JOIN dkim_keys k ON k.domain_id = d.id AND k.state = 'active'
    WHERE d.id = $1
    ORDER BY k.algorithm DESC
  `,
)

export async function loadSendingDomain(
  ctx: Pick<Context, 'db' | 'encryption'>,
  domainId: string,
): Promise<SendingDomain> {
  const { rows } = await ctx.db.query<Row>(LOAD, [domainId])
  const [first] = rows
  if (first === undefined) return { kind: 'gone' }
  if (!first.maySend) return { kind: 'not-verified' }
  const keys = rows.flatMap(({ id, domain, selector, algorithm, private_key: encrypted }) =>
    id === null
      ? []
      : [
          {
            keyId: id,
            domain,
            selector,
            algorithm,
            privateKey: () => ctx.encryption.decrypt('dkim', encrypted),
          },
        ],
  )
  return {
    kind: 'ready',
    keys,
    mailFrom: first.hasMailFrom ? mailFromDomainOf(first.domain) : null,
    pool: first.egressPool ?? REGIONS[first.region].pool,
  }
}

const CACHE_OPTIONS = { max: 10_000, ttlMs: 5000 }

export interface SendingDomainCache {
  find(domainId: string): Promise<SendingDomain>
}

/** At most one query per domain every few seconds, however many messages need it. */
export function createSendingDomainCache(ctx: Pick<Context, 'db' | 'encryption' | 'clock'>): SendingDomainCache {
  const cache = createLoadingCache<SendingDomain>(ctx.clock, CACHE_OPTIONS)
  return { find: (domainId) => cache.get(domainId, () => loadSendingDomain(ctx, domainId)) }
}
