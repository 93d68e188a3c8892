/**
 * Sending domains of a workspace: added with DKIM keys of their own, found, listed, trusted. Any workspace may claim a name, one can
 * hold it verified (the index domains_owner decides). Private keys are stored sealed and never read here.
 *
 * Two add at once: the row of the workspace is locked, so the limit of the plan is exact and a name is there once.
 */
import { DEFAULT_REGION, type Region } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { hexOf, isUuid, newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { type DkimKey, generateDkimKeys } from './dkim-key.ts'
import type { RecordCheck } from './inspect.ts'
import type { DkimKeyRow, KeyState } from './key-state.ts'
import { readDomainName, readNewName } from './name.ts'
import { type DomainStatus, FIRST_WAIT_MS } from './status.ts'

/** Of the records that only add something: the bounce subdomain and the tracking name. */
export type PartStatus = 'pending' | 'verified' | 'failed'

export interface Domain {
  readonly id: string
  readonly workspaceId: string
  /** Lower case, A-labels. */
  readonly domain: string
  readonly status: DomainStatus
  readonly statusSince: Date
  readonly isTrusted: boolean
  readonly missingSince: Date | null
  readonly mailFromStatus: PartStatus
  readonly trackingStatus: PartStatus
  readonly region: Region
  /** What the last look at DNS found; null before the first. */
  readonly checks: readonly RecordCheck[] | null
  readonly checkedAt: Date | null
  readonly dnsProvider: string | null
  readonly registrarName: string | null
  readonly registrarIanaId: string | null
  readonly registrarLastCheckedAt: Date | null
  readonly verifiedAt: Date | null
  readonly createdAt: Date
  /** All of them; the ones that sign first, RSA in front. */
  readonly keys: readonly DkimKeyRow[]
}

export interface DomainOrder {
  readonly workspaceId: string
  /** As people write it. */
  readonly name: string
  readonly region?: Region
  /** How many the plan allows; null = any number. */
  readonly max?: number | null
}

export type AddedDomain =
  | { readonly kind: 'added'; readonly domain: Domain }
  /** The workspace has it already; nothing was changed. */
  | { readonly kind: 'exists'; readonly domain: Domain }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'too-many'; readonly max: number }
  | { readonly kind: 'no-workspace' }

export type TrustedDomain = 'verified' | 'not-found' | 'taken'

const SELECT = sql`
  SELECT d.id, d.workspace_id AS "workspaceId", d.domain, d.verification_status AS status,
    d.status_since AS "statusSince", d.is_trusted AS "isTrusted", d.missing_since AS "missingSince",
    d.mail_from_status AS "mailFromStatus", d.tracking_status AS "trackingStatus", d.region, d.checks,
    d.checked_at AS "checkedAt", d.dns_provider AS "dnsProvider", d.registrar_name AS "registrarName",
    d.registrar_iana_id AS "registrarIanaId", d.registrar_last_checked_at AS "registrarLastCheckedAt",
    d.verified_at AS "verifiedAt", d.created_at AS "createdAt", coalesce(k.keys, '[]') AS keys
  FROM domains d
  LEFT JOIN LATERAL (
    SELECT json_agg(
      json_build_object(
        'id', id, 'selector', selector, 'algorithm', algorithm, 'dnsValue', dns_value, 'state', state, 'sinceMs',
        floor(extract(epoch FROM state_since) * 1000), 'seenMs', floor(extract(epoch FROM seen_at) * 1000)
      )
      ORDER BY array_position('{active,waiting,retired,removable}', state), algorithm DESC, created_at DESC
    ) AS keys
    FROM dkim_keys
    WHERE domain_id = d.id
  ) k ON true
`

const INSERT_DOMAIN = sql`
  INSERT INTO domains (id, workspace_id, domain, region, status_since, check_due_at, registration_due_at, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $5, $5)
`

type Adding = Pick<Context, 'db' | 'vault' | 'config' | 'clock'>

/** Makes the keys (about 0.1 s, off the main thread) and stores both. */
export async function addDomain(ctx: Adding, order: DomainOrder): Promise<AddedDomain> {
  const read = readNewName(order.name, ctx.config.bounceDomain)
  if (!read.ok) return { kind: 'invalid', reason: read.reason }
  const { workspaceId, region = DEFAULT_REGION, max = null } = order
  const present = await findDomain(ctx.db, workspaceId, read.name)
  if (present !== null) return { kind: 'exists', domain: present }
  const keys = await generateDkimKeys()
  const id = newId(ctx.clock.now())
  const outcome = await ctx.db.transaction(async (tx) => {
    const {
      rows: [workspace],
    } = await tx.query('SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId])
    if (workspace === undefined) return 'no-workspace'
    const { rows } = await tx.query<{ domain: string }>('SELECT domain FROM domains WHERE workspace_id = $1', [
      workspaceId,
    ])
    if (rows.some(({ domain }) => domain === read.name)) return 'exists'
    if (max !== null && rows.length >= max) return 'too-many'
    const now = ctx.clock.now()
    const dueAt = new Date(now + FIRST_WAIT_MS * ctx.config.retryScale)
    await tx.query(INSERT_DOMAIN, [id, workspaceId, read.name, region, new Date(now), dueAt])
    for (const key of keys) await storeKey(ctx, tx, { domainId: id, pairId: id, key, state: 'active' })
    return 'added'
  })
  if (outcome === 'too-many') return { kind: outcome, max: max ?? 0 }
  const domain = outcome === 'no-workspace' ? null : await findDomain(ctx.db, workspaceId, read.name)
  return domain === null || outcome === 'no-workspace' ? { kind: 'no-workspace' } : { kind: outcome, domain }
}

interface NewKey {
  readonly domainId: string
  /** Of the domain, or of the rotation. */
  readonly pairId: string
  readonly key: DkimKey
  readonly state: KeyState
}

/** The selector carries a part of an id of ours: it collides with nothing in the zone, nor with another workspace's claim to the name. */
export async function storeKey(ctx: Pick<Adding, 'vault' | 'clock'>, tx: Queryable, order: NewKey): Promise<void> {
  const { domainId, pairId, key, state } = order
  const selector = `ms-${hexOf(pairId).slice(-8)}${key.algorithm === 'ed25519-sha256' ? '-ed' : ''}`
  await tx.query(
    sql`
      INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value, state, state_since, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
    `,
    [
      newId(),
      domainId,
      selector,
      key.algorithm,
      ctx.vault.seal('dkim', key.privateKey),
      key.dnsValue,
      state,
      new Date(ctx.clock.now()),
    ],
  )
}

/** By id or name, in this workspace only. */
export async function findDomain(db: Queryable, workspaceId: string, idOrName: string): Promise<Domain | null> {
  const [domain] = await searchDomains(db, idOrName, workspaceId)
  return domain ?? null
}

/** By id or name, in one workspace or in all: several may claim one name. The verified one comes first. */
export async function searchDomains(
  db: Queryable,
  idOrName: string,
  workspaceId: string | null = null,
): Promise<Domain[]> {
  const read = readDomainName(idOrName)
  const [column, value] = isUuid(idOrName) ? ['id', idOrName] : ['domain', read.ok ? read.name : null]
  const { rows } = await db.query<Domain>(
    sql`
      ${SELECT}
      WHERE d.${column} = $1 AND ($2::uuid IS NULL OR d.workspace_id = $2)
      ORDER BY d.verification_status <> 'verified', d.created_at
      LIMIT 100
    `,
    [value, workspaceId],
  )
  return rows
}

/** The oldest first, of one workspace or (null) of all. */
export async function listDomains(
  db: Queryable,
  workspaceId: string | null,
  limit: number,
  offset = 0,
): Promise<Domain[]> {
  const { rows } = await db.query<Domain>(
    sql`
      ${SELECT}
      WHERE $1::uuid IS NULL OR d.workspace_id = $1
      ORDER BY d.created_at, d.id
      LIMIT $2
      OFFSET $3
    `,
    [workspaceId, limit, offset],
  )
  return rows
}

export async function countDomains(db: Queryable, workspaceId: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>('SELECT count(*) AS n FROM domains WHERE workspace_id = $1', [
    workspaceId,
  ])
  return rows[0]?.n ?? 0
}

/** Makes a domain verified on the operator's word, whatever DNS says now or later. `taken`: another workspace holds it. */
export async function trustDomain(db: Queryable, id: string): Promise<TrustedDomain> {
  try {
    const { rowCount } = await db.query(
      sql`
        UPDATE domains
        SET verification_status = 'verified',
          is_trusted = true,
          status_since = now(),
          missing_since = NULL,
          verified_at = CASE
            WHEN verification_status IN ('verified', 'degraded') THEN coalesce(verified_at, now())
            ELSE now()
          END
        WHERE id = $1
      `,
      [id],
    )
    return rowCount === 1 ? 'verified' : 'not-found'
  } catch (error) {
    if (isHeldElsewhere(error)) return 'taken'
    throw error
  }
}

/** Another workspace holds the name verified. */
export function isHeldElsewhere(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'domains_owner'
}
