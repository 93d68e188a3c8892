/**
 * Sending domains of a workspace: added with DKIM keys of their own, verified once their owner has published them. Any workspace may
 * claim a name, one can hold it verified (the index domains_owner decides). Private keys are stored sealed and never read here.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/db.ts'
import { hexOf, isUuid, newId } from '#src/id.ts'
import { type DkimKey, generateDkimKeys } from './dkim-key.ts'
import { readDomainName } from './name.ts'
import type { Published } from './records.ts'

export const REGIONS = ['us-east-1', 'ap-southeast-1', 'af-south-1'] as const
export type Region = (typeof REGIONS)[number]
export type DomainStatus = 'pending' | 'verified' | 'failed' | 'degraded'

export interface Domain {
  readonly id: string
  readonly workspaceId: string
  /** Lower case, A-labels. */
  readonly domain: string
  readonly status: DomainStatus
  readonly region: string
  readonly verifiedAt: Date | null
  readonly createdAt: Date
  /** RSA first. */
  readonly keys: readonly Published[]
}

export type AddedDomain =
  | { readonly kind: 'added'; readonly domain: Domain }
  /** The workspace has it already; nothing was changed. */
  | { readonly kind: 'exists'; readonly domain: Domain }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'no-workspace' }

export type TrustedDomain = 'verified' | 'not-found' | 'taken'

const SELECT = `
SELECT d.id, d.workspace_id AS "workspaceId", d.domain, d.verification_status AS status, d.region,
  d.verified_at AS "verifiedAt", d.created_at AS "createdAt", coalesce(k.keys, '[]') AS keys
FROM domains d LEFT JOIN LATERAL (
  SELECT json_agg(json_build_object('selector', selector, 'algorithm', algorithm, 'dnsValue', dns_value) ORDER BY algorithm DESC) AS keys
  FROM dkim_keys WHERE domain_id = d.id AND is_active
) k ON true`

const INSERT_DOMAIN = `
INSERT INTO domains (id, workspace_id, domain, region) VALUES ($1, $2, $3, $4) ON CONFLICT (workspace_id, domain) DO NOTHING`

type Sealing = Pick<Context, 'db' | 'vault'>

/** Makes the keys (about 0.1 s, off the main thread) and stores both. `name` is as people write it. */
export async function addDomain(ctx: Sealing, workspaceId: string, name: string, region: Region = 'us-east-1'): Promise<AddedDomain> {
  const read = readDomainName(name)
  if (!read.ok) return { kind: 'invalid', reason: read.reason }
  const present = await findDomain(ctx.db, workspaceId, read.name)
  if (present !== null) return { kind: 'exists', domain: present }
  const keys = await generateDkimKeys()
  const id = newId()
  const outcome = await ctx.db.transaction(async (tx) => {
    const { rows: [workspace] } = await tx.query('SELECT 1 FROM workspaces WHERE id = $1 FOR KEY SHARE', [workspaceId])
    if (workspace === undefined) return 'no-workspace'
    const { rowCount } = await tx.query(INSERT_DOMAIN, [id, workspaceId, read.name, region])
    if (rowCount === 0) return 'exists'
    for (const key of keys) await storeKey(ctx, tx, id, key)
    return 'added'
  })
  if (outcome === 'no-workspace') return { kind: outcome }
  const domain = await findDomain(ctx.db, workspaceId, read.name)
  return domain === null ? { kind: 'no-workspace' } : { kind: outcome, domain }
}

/** The selector carries a part of the domain's id: it collides with nothing in the zone, nor with another workspace's claim to the name. */
async function storeKey(ctx: Sealing, tx: Queryable, domainId: string, key: DkimKey): Promise<void> {
  const selector = `ms-${hexOf(domainId).slice(-8)}${key.algorithm === 'ed25519-sha256' ? '-ed' : ''}`
  await tx.query('INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value) VALUES ($1, $2, $3, $4, $5, $6)',
    [newId(), domainId, selector, key.algorithm, ctx.vault.seal('dkim', key.privateKey), key.dnsValue])
}

/** By id or name, in this workspace only. */
export async function findDomain(db: Queryable, workspaceId: string, idOrName: string): Promise<Domain | null> {
  const [domain] = await searchDomains(db, idOrName, workspaceId)
  return domain ?? null
}

/** By id or name, in one workspace or in all: several may claim one name. The verified one comes first. */
export async function searchDomains(db: Queryable, idOrName: string, workspaceId: string | null = null): Promise<Domain[]> {
  const read = readDomainName(idOrName)
  const [column, value] = isUuid(idOrName) ? ['id', idOrName] : ['domain', read.ok ? read.name : null]
  const { rows } = await db.query<Domain>(`
    ${SELECT} WHERE d.${column} = $1 AND ($2::uuid IS NULL OR d.workspace_id = $2)
    ORDER BY d.verification_status <> 'verified', d.created_at LIMIT 100`, [value, workspaceId])
  return rows
}

/** The oldest `limit` domains, of one workspace or (null) of all. */
export async function listDomains(db: Queryable, workspaceId: string | null, limit: number): Promise<Domain[]> {
  const { rows } = await db.query<Domain>(`
    ${SELECT} WHERE $1::uuid IS NULL OR d.workspace_id = $1 ORDER BY d.created_at, d.id LIMIT $2`, [workspaceId, limit])
  return rows
}

/** Makes a domain verified without a look at DNS: the caller has seen the proof, or is the operator. `taken`: another workspace holds it. */
export async function trustDomain(db: Queryable, id: string): Promise<TrustedDomain> {
  try {
    const { rowCount } = await db.query(`
      UPDATE domains SET verification_status = 'verified',
        verified_at = CASE WHEN verification_status IN ('verified', 'degraded') THEN coalesce(verified_at, now()) ELSE now() END
      WHERE id = $1`, [id])
    return rowCount === 1 ? 'verified' : 'not-found'
  } catch (error) {
    if (error instanceof Error && 'constraint' in error && error.constraint === 'domains_owner') return 'taken'
    throw error
  }
}
