/**
 * Sending domains of a workspace: add with DKIM keys of their own, find, list, trust. Several workspaces may claim a
 * name, but only one can hold it verified (index domains_owner). Private keys are stored encrypted and never read here.
 *
 * If two requests add a domain at once, the row of the workspace is locked, so the limit of the plan is exact and no
 * name is added twice.
 */
import { DEFAULT_REGION, type Region } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { hexOf, isUuid, newId } from '#src/platform/id.ts'
import { readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { BimiFiles } from './bimi-record.ts'
import { delegatedNames } from './delegated-names.ts'
import { type DkimKey, generateDkimKeys } from './dkim-key.ts'
import type { RecordCheck } from './inspect-records.ts'
import type { DkimKeyRow, KeyState } from './key-state.ts'
import { readDomainName, readNewDomainName } from './domain-name.ts'
import { type DomainStatus, FIRST_WAIT_MS } from './domain-status.ts'

/** Status of the optional records: the bounce subdomain and the tracking name. */
export type OptionalRecordStatus = 'pending' | 'verified' | 'failed'

export interface Domain {
  readonly id: string
  readonly workspaceId: string
  /** Lower case, A-labels. */
  readonly domain: string
  readonly status: DomainStatus
  readonly statusSince: Date
  readonly isTrusted: boolean
  readonly missingSince: Date | null
  readonly mailFromStatus: OptionalRecordStatus
  readonly trackingStatus: OptionalRecordStatus
  readonly region: Region
  /** Result of the last DNS check; null before the first. */
  readonly checks: readonly RecordCheck[] | null
  readonly checkedAt: Date | null
  readonly dnsProvider: string | null
  readonly registrarName: string | null
  readonly registrarIanaId: string | null
  readonly registrarLastCheckedAt: Date | null
  readonly verifiedAt: Date | null
  readonly createdAt: Date
  /** The operator's zone to which its DKIM names point by CNAME; null: its keys are TXT records in its own zone. */
  readonly dkimZone: string | null
  /** All keys; active ones first, RSA first. */
  readonly keys: readonly DkimKeyRow[]
  /** The files of its BIMI record; null: none are set. */
  readonly bimi: BimiFiles | null
}

export interface NewDomain {
  readonly workspaceId: string
  /** As the user writes it. */
  readonly name: string
  readonly region?: Region
  /** Limit of the plan; null = unlimited. */
  readonly max?: number | null
  /** How its keys are published; without a DKIM_ZONE always `txt`. */
  readonly dkimRecords?: DkimRecords
}

/** `cname`: CNAMEs to DKIM_ZONE, where keys are replaced by schedule. `txt`: the owner publishes each key. */
export const DKIM_RECORDS = ['cname', 'txt'] as const
export type DkimRecords = (typeof DKIM_RECORDS)[number]

export type AddedDomain =
  | { readonly kind: 'added'; readonly domain: Domain }
  /** The workspace already has the domain; nothing was changed. */
  | { readonly kind: 'exists'; readonly domain: Domain }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'too-many'; readonly max: number }
  | { readonly kind: 'no-workspace' }

export type TrustedDomain = 'verified' | 'not-found' | 'taken'

const COLUMNS = sql`
  d.id, d.workspace_id AS "workspaceId", d.domain, d.verification_status AS status,
    d.status_since AS "statusSince", d.is_trusted AS "isTrusted", d.missing_since AS "missingSince",
    d.mail_from_status AS "mailFromStatus", d.tracking_status AS "trackingStatus", d.region, d.checks,
    d.checked_at AS "checkedAt", d.dns_provider AS "dnsProvider", d.registrar_name AS "registrarName",
    d.registrar_iana_id AS "registrarIanaId", d.registrar_last_checked_at AS "registrarLastCheckedAt",
    d.verified_at AS "verifiedAt", d.created_at AS "createdAt", d.dkim_zone AS "dkimZone",
    coalesce(k.keys, '[]') AS keys,
    CASE
      WHEN d.bimi_logo_url IS NOT NULL
      THEN json_build_object('logoUrl', d.bimi_logo_url, 'certificateUrl', d.bimi_certificate_url)
    END AS bimi
`
const JOINS = sql`
  LEFT JOIN LATERAL (
    SELECT json_agg(
      json_build_object(
        'id', id, 'selector', selector, 'algorithm', algorithm, 'dnsValue', dns_value, 'state', state, 'sinceMs',
        floor(extract(epoch FROM state_since) * 1000), 'seenMs', floor(extract(epoch FROM seen_at) * 1000), 'target',
        target
      )
      ORDER BY array_position('{active,waiting,retired,removable,revoked}', state), algorithm DESC, created_at DESC
    ) AS keys
    FROM dkim_keys
    WHERE domain_id = d.id
  ) k ON true
`
const SELECT = `SELECT ${COLUMNS} FROM domains d ${JOINS}`

const INSERT_DOMAIN = sql`
  INSERT INTO domains (
    id, workspace_id, domain, region, status_since, check_due_at, registration_due_at, created_at, dkim_zone
  )
  VALUES ($1, $2, $3, $4, $5, $6, $5, $5, $7)
`

type AddDomainContext = Pick<Context, 'db' | 'encryption' | 'config' | 'clock'>

/** Generates the keys (about 0.1 s, off the main thread) and stores the domain with them. */
export async function addDomain(ctx: AddDomainContext, request: NewDomain): Promise<AddedDomain> {
  const read = readNewDomainName(request.name, ctx.config.bounceDomain)
  if (!read.ok) return { kind: 'invalid', reason: read.reason }
  const { workspaceId, region = DEFAULT_REGION, max = null, dkimRecords = 'cname' } = request
  const dkimZone = dkimRecords === 'cname' ? ctx.config.dkimZone : null
  const existing = await findDomain(ctx.db, workspaceId, read.name)
  if (existing !== null) return { kind: 'exists', domain: existing }
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
    await tx.query(INSERT_DOMAIN, [id, workspaceId, read.name, region, new Date(now), dueAt, dkimZone])
    const names = dkimZone === null ? [] : delegatedNames({ id, dkimZone })
    for (const key of keys) {
      const name = names.find(({ algorithm }) => algorithm === key.algorithm)
      await storeDkimKey(ctx, tx, { domainId: id, pairId: id, name, key, state: 'active' })
    }
    return 'added'
  })
  if (outcome === 'too-many') return { kind: outcome, max: max ?? 0 }
  const domain = outcome === 'no-workspace' ? null : await findDomain(ctx.db, workspaceId, read.name)
  return domain === null || outcome === 'no-workspace' ? { kind: 'no-workspace' } : { kind: outcome, domain }
}

interface NewDkimKey {
  readonly domainId: string
  /** Id of the domain or of the rotation. */
  readonly pairId: string
  /** Of a delegated domain: its selector and the name in the operator's zone. */
  readonly name?: { readonly selector: string; readonly target: string } | undefined
  readonly key: DkimKey
  readonly state: KeyState
}

/**
 * The selector contains part of an id, so it collides neither with other selectors in the zone nor with those of
 * another workspace that claims the name.
 */
export async function storeDkimKey(
  ctx: Pick<AddDomainContext, 'encryption' | 'clock'>,
  tx: Queryable,
  newKey: NewDkimKey,
): Promise<void> {
  const { domainId, pairId, key, state } = newKey
  const ownSelector = `ms-${hexOf(pairId).slice(-8)}${key.algorithm === 'ed25519-sha256' ? '-ed' : ''}`
  const { selector, target } = newKey.name ?? { selector: ownSelector, target: null }
  await tx.query(
    sql`
      INSERT INTO dkim_keys (
        id, domain_id, selector, algorithm, private_key, dns_value, state, state_since, created_at, target
      )
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)
    `,
    [
      newId(),
      domainId,
      selector,
      key.algorithm,
      ctx.encryption.encrypt('dkim', key.privateKey),
      key.dnsValue,
      state,
      new Date(ctx.clock.now()),
      target,
    ],
  )
}

/** Finds a domain by id or name in this workspace. */
export async function findDomain(db: Queryable, workspaceId: string, idOrName: string): Promise<Domain | null> {
  const [domain] = await searchDomains(db, idOrName, workspaceId)
  return domain ?? null
}

/**
 * Finds domains by id or name, in one workspace or in all: several may claim one name. The verified one comes first.
 */
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

/** Oldest first, of one workspace or (null) of all. */
export async function listDomains(db: Queryable, workspaceId: string | null, limit: number): Promise<Domain[]> {
  const { rows } = await db.query<Domain>(
    sql`
      ${SELECT}
      WHERE $1::uuid IS NULL OR d.workspace_id = $1
      ORDER BY d.created_at, d.id
      LIMIT $2
    `,
    [workspaceId, limit],
  )
  return rows
}

const OLDEST_FIRST: ListOrder = {
  by: [
    { sql: 'd.created_at', type: 'timestamptz' },
    { sql: 'd.id', type: 'uuid' },
  ],
  direction: 'ASC',
}

/** Domains of a workspace, the oldest first. */
export function readDomains(db: Queryable, workspaceId: string, page: PageRequest): Promise<Page<Domain>> {
  const listing = { columns: COLUMNS, from: 'domains d', joins: JOINS, where: 'd.workspace_id = $1' }
  return readPage<Domain>(db, { ...listing, order: OLDEST_FIRST, values: [workspaceId] }, page)
}

/**
 * Marks a domain as verified by the operator's decision, whatever DNS says now or later. `taken`: another workspace
 * holds it verified.
 */
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
    if (isVerifiedElsewhere(error)) return 'taken'
    throw error
  }
}

/** True if another workspace holds the name verified. */
export function isVerifiedElsewhere(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'domains_owner'
}
