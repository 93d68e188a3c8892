/**
 * Reports as they came, by mail at the inbound port or by post at the api, until the inbound role has read them. Taken is stored: a process
 * that dies loses none. Anybody may send them, so there are bounds: in size, by network, and in how many wait.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { sql } from '#src/stores/sql.ts'

/** Of the address at the bounce domain that they are mailed to. */
export const TLS_REPORT_LOCAL = 'tls-reports'
/** Of a post, gzip or not. Those of the largest senders are a few KB. */
export const MAX_POST_OCTETS = 64 * 1024
const PER_NETWORK: AttemptLimit = { max: 60, windowMs: 3_600_000 }
const MAX_WAITING = 1000
/** A process that died over one gives it back after so long. */
const CLAIM = `interval '5 minutes'`

export interface TlsReportArrival {
  readonly via: 'mail' | 'https'
  readonly peer: string
  readonly raw: Buffer
}

/** Seconds to wait when the network of this address has sent too many. Only digests of networks are counted. */
export function limitTlsReports(
  { encryption }: Pick<Context, 'encryption'>,
  attempts: AttemptLimiter,
  address: string,
): Promise<number | null> {
  const name = encryption.mac('tls-reports-pace', networkOf(address)).toString('base64url').slice(0, 22)
  return attempts.consume(`tls-reports:${name}`, PER_NETWORK)
}

/** False while too many wait to be read. */
export async function enqueueTlsReport(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  arrival: TlsReportArrival,
): Promise<boolean> {
  const { via, peer, raw } = arrival
  const now = clock.now()
  const { rowCount } = await db.query(
    sql`
      INSERT INTO tls_report_arrivals (id, via, peer, raw, due_at)
      SELECT $1, $2, $3, $4, $5
      WHERE (SELECT count(*) FROM tls_report_arrivals) < ${MAX_WAITING}
    `,
    [newId(now), via, peer, raw, new Date(now)],
  )
  return rowCount === 1
}

export interface ClaimedArrival extends TlsReportArrival {
  readonly id: string
  /** This one included. */
  readonly tries: number
}

/** Taken for five minutes: nobody else reads them meanwhile. */
export async function claimArrivals(db: Queryable, now: Date, most: number): Promise<ClaimedArrival[]> {
  const { rows } = await db.query<ClaimedArrival>(
    sql`
      UPDATE tls_report_arrivals
      SET due_at = $1::timestamptz + ${CLAIM}, tries = tries + 1
      WHERE id IN (
        SELECT id
        FROM tls_report_arrivals
        WHERE due_at <= $1
        ORDER BY due_at
        LIMIT $2
        FOR UPDATE SKIP LOCKED
      )
      RETURNING id, via, peer, raw, tries
    `,
    [now, most],
  )
  return rows
}

export async function deleteArrivals(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query('DELETE FROM tls_report_arrivals WHERE id = ANY ($1::uuid[])', columnsOf(ids, [(id) => id]))
}
