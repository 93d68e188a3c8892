/**
 * The queue of received TLS reports, by mail to the inbound server or by POST to the api, until the inbound role
 * processes them. An accepted report is stored, so a crash loses none. Anybody can send reports, so there are limits on
 * size, on the rate of each network and on the length of the queue.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { sql } from '#src/stores/sql.ts'

/** The local part of the address, at the bounce domain, for reports by mail. */
export const TLS_REPORT_LOCAL = 'tls-reports'
/** The limit of a POST, compressed or not. Reports of the largest senders have a few KB. */
export const MAX_POST_OCTETS = 64 * 1024
const PER_NETWORK: AttemptLimit = { max: 60, windowMs: 3_600_000 }
const MAX_WAITING = 1000
/** A claim expires after this time, if the process died. */
const CLAIM = `interval '5 minutes'`

export interface TlsReportArrival {
  readonly via: 'mail' | 'https'
  readonly peer: string
  readonly raw: Buffer
}

/** Seconds to wait if the network of this address has sent too many. Counters have a digest of the network as key. */
export function limitTlsReports(
  { encryption }: Pick<Context, 'encryption'>,
  attempts: AttemptLimiter,
  address: string,
): Promise<number | null> {
  const name = encryption.mac('tls-reports-pace', networkOf(address)).toString('base64url').slice(0, 22)
  return attempts.consume(`tls-reports:${name}`, PER_NETWORK)
}

/** False while the queue is full. */
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
  /** Includes this attempt. */
  readonly tries: number
}

/** Claims reports for five minutes. */
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
