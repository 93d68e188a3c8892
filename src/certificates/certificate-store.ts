/**
 * Certificates in PostgreSQL. A process that serves a name reports that it needs a certificate for it; a worker
 * requests those that are due. A result is stored only by the process whose turn it is, so a process that was paused
 * for minutes overwrites nothing. Private keys come and go sealed.
 */
import type { Encryption } from '#src/crypto/encryption.ts'
import { newId } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { CertificateUse, NeededCertificate } from './needed-names.ts'

export const CERTIFICATE_ORIGINS = ['settings', 'tracking', 'operator'] as const
export type CertificateOrigin = (typeof CERTIFICATE_ORIGINS)[number]

/** A name that no process has needed for this long is not renewed. */
const NEEDED_DAYS = 14

/** A certificate with its key, in PEM. */
export interface IssuedCertificate {
  readonly chain: string
  readonly privateKey: string
  readonly expiresAt: Date
}

export interface ServedCertificate extends IssuedCertificate {
  readonly name: string
  readonly origin: CertificateOrigin
  readonly issuedAt: Date
}

/** The name of a purpose of encryption, and the column that it seals. */
const KEYS = {
  web: { purpose: 'certificate-web', column: 'web_private_key' },
  smtp: { purpose: 'certificate-smtp', column: 'smtp_private_key' },
} as const satisfies Record<CertificateUse, { readonly purpose: string; readonly column: string }>

/**
 * Reports that certificates are needed. New ones, and ones with other names than before, are requested at once.
 * Reporting again only notes the time; what an operator has added stays the operator's.
 */
export async function reportNeeded(
  db: Queryable,
  needed: readonly NeededCertificate[],
  origin: CertificateOrigin,
): Promise<void> {
  for (const { use, name, otherNames } of needed)
    await db.query(
      sql`
        INSERT INTO certificates AS c (id, use, name, other_names, origin)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (use, name) DO UPDATE
        SET wanted_at = now(), other_names = excluded.other_names,
          due_at = CASE WHEN c.other_names = excluded.other_names THEN c.due_at ELSE now() END,
          origin = CASE WHEN c.origin = 'operator' THEN c.origin ELSE excluded.origin END
        WHERE c.wanted_at < now() - interval '1 hour' OR c.other_names <> excluded.other_names
          OR excluded.origin = 'operator'
      `,
      [newId(), use, name, otherNames, origin],
    )
}

/** The tracking names of verified domains, which `prefix` begins. */
export async function reportTrackingNames(db: Queryable, prefix: string): Promise<void> {
  await db.query(
    sql`
      INSERT INTO certificates AS c (id, use, name, origin)
      SELECT gen_random_uuid(), 'web', n.name, 'tracking'
      FROM (
        SELECT DISTINCT $1 || domain AS name
        FROM domains
        WHERE tracking_status = 'verified' AND verification_status IN ('verified', 'degraded')
      ) n
      ON CONFLICT (use, name) DO UPDATE
      SET wanted_at = now()
      WHERE c.wanted_at < now() - interval '1 hour'
    `,
    [prefix],
  )
}

/** The certificates of one use that were issued, or only those issued since a time. */
export async function readIssued(
  { db, encryption }: { readonly db: Queryable; readonly encryption: Pick<Encryption, 'decrypt'> },
  use: CertificateUse,
  filter: { readonly name?: string; readonly since?: Date | null },
): Promise<readonly ServedCertificate[]> {
  const { purpose, column } = KEYS[use]
  const { rows } = await db.query<Omit<ServedCertificate, 'privateKey'> & { readonly sealed: Buffer }>(
    sql`
      SELECT name, origin, chain, ${column} AS sealed, issued_at AS "issuedAt", expires_at AS "expiresAt"
      FROM certificates
      WHERE use = $1 AND chain IS NOT NULL AND ($2::text IS NULL OR name = $2)
        AND ($3::timestamptz IS NULL OR issued_at >= $3)
      ORDER BY issued_at
    `,
    [use, filter.name ?? null, filter.since ?? null],
  )
  return rows.map(({ sealed, ...row }) => ({ ...row, privateKey: encryption.decrypt(purpose, sealed).toString() }))
}

export interface DueCertificate extends NeededCertificate {
  readonly id: string
  readonly failures: number
}

/** The certificate that has been due for longest; null if none is. */
export async function findDue(db: Queryable): Promise<DueCertificate | null> {
  const {
    rows: [due],
  } = await db.query<DueCertificate>(sql`
    SELECT id, use, name, other_names AS "otherNames", failures
    FROM certificates
    WHERE due_at <= now() AND (origin = 'operator' OR wanted_at > now() - interval '${NEEDED_DAYS} days')
    ORDER BY due_at
    LIMIT 1
  `)
  return due ?? null
}

interface TurnContext {
  readonly db: Queryable
  readonly encryption: Pick<Encryption, 'encrypt'>
  /** The process whose turn it is. */
  readonly holder: string
}

/** SQL: true while the process of a parameter has its turn. */
function hasTurn(parameter: string): string {
  return `EXISTS (SELECT FROM acme_turn WHERE holder = ${parameter} AND held_until > now())`
}

/** False if the turn of this process has ended meanwhile, or the row is gone. */
export async function storeIssued(
  { db, encryption, holder }: TurnContext,
  { id, use, otherNames }: DueCertificate,
  issued: IssuedCertificate & { readonly renewAt: Date },
): Promise<boolean> {
  const { purpose, column } = KEYS[use]
  const { rowCount } = await db.query(
    sql`
      UPDATE certificates
      SET chain = $2, ${column} = $3, expires_at = $4, issued_at = now(), failures = 0, failing_since = NULL,
        last_error = NULL, due_at = CASE WHEN other_names = $6 THEN $5 ELSE now() END
      WHERE id = $1 AND ${hasTurn('$7')}
    `,
    [
      id,
      issued.chain,
      encryption.encrypt(purpose, issued.privateKey),
      issued.expiresAt,
      issued.renewAt,
      otherNames,
      holder,
    ],
  )
  return (rowCount ?? 0) > 0
}

export async function storeFailure(
  { db, holder }: Omit<TurnContext, 'encryption'>,
  id: string,
  failure: { readonly error: string; readonly retryMs: number },
): Promise<void> {
  await db.query(
    sql`
      UPDATE certificates
      SET failures = failures + 1, failing_since = coalesce(failing_since, now()), last_error = $2,
        due_at = now() + $3 * interval '1 millisecond'
      WHERE id = $1 AND ${hasTurn('$4')}
    `,
    [id, failure.error, failure.retryMs, holder],
  )
}

export const CERTIFICATE_STATES = ['valid', 'waiting', 'failing', 'expired', 'unused'] as const
export type CertificateState = (typeof CERTIFICATE_STATES)[number]

export interface CertificateStatus {
  readonly use: CertificateUse
  readonly name: string
  readonly otherNames: readonly string[]
  readonly origin: CertificateOrigin
  readonly state: CertificateState
  readonly expiresAt: Date | null
  readonly dueAt: Date
  readonly failures: number
  readonly lastError: string | null
}

/** All certificates by name, without keys. */
export async function listCertificates(db: Queryable): Promise<readonly CertificateStatus[]> {
  const { rows } = await db.query<CertificateStatus>(sql`
    SELECT use, name, other_names AS "otherNames", origin, expires_at AS "expiresAt", due_at AS "dueAt", failures,
      last_error AS "lastError",
      CASE
        WHEN origin <> 'operator' AND wanted_at < now() - interval '${NEEDED_DAYS} days' THEN 'unused'
        WHEN expires_at <= now() THEN 'expired'
        WHEN failures > 0 THEN 'failing'
        WHEN chain IS NULL THEN 'waiting'
        ELSE 'valid'
      END AS state
    FROM certificates
    ORDER BY name, use
  `)
  return rows
}

/** Requests certificates at once, whatever failed before: that of one name, or all. Returns their number. */
export async function requestNow(db: Queryable, name: string | null): Promise<number> {
  const { rowCount } = await db.query(
    sql`
      UPDATE certificates
      SET due_at = now(), failures = 0
      WHERE $1::text IS NULL OR name = $1
    `,
    [name],
  )
  return rowCount ?? 0
}

/** Forgets a certificate; a process that needs it reports it again. Returns the number. */
export async function removeCertificate(db: Queryable, name: string): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM certificates WHERE name = $1', [name])
  return rowCount ?? 0
}

/** What nobody needs any more, and challenges that were left behind. */
export const CERTIFICATE_CLEANUP = [
  sql`
    DELETE FROM certificates
    WHERE origin <> 'operator' AND wanted_at < now() - interval '90 days'`,
  `DELETE FROM certificate_challenges WHERE expires_at < now()`,
] as const
