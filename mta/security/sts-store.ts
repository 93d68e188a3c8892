/**
 * Stores fetched MTA-STS policies in PostgreSQL, for all processes and across restarts. Reads are batched. While
 * PostgreSQL is away, no policy is found or stored: it is fetched again, and mail continues.
 */
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import { sql } from '#src/stores/sql.ts'
import type { StsPolicy } from './sts-policy.ts'

export interface StoredStsPolicy extends StsPolicy {
  readonly expiresAtMs: number
}

export interface StsStore {
  load(domain: string): Promise<StoredStsPolicy | null>
  save(domain: string, policy: StsPolicy): Promise<StoredStsPolicy>
  /** Claims domains whose policy is due for a refresh; they are due again in an hour. Deletes expired policies. */
  claimDue(): Promise<{ readonly domain: string; readonly id: string }[]>
}

const DAY_SECONDS = 86_400
const LOAD = 'SELECT domain, id, mode, mx, max_age, expires_at FROM sts_policies WHERE domain = ANY ($1)'

const SAVE = sql`
  INSERT INTO sts_policies (domain, id, mode, mx, max_age, fetched_at, expires_at, refresh_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (domain)
  DO UPDATE SET id = excluded.id,
    mode = excluded.mode,
    mx = excluded.mx,
    max_age = excluded.max_age,
    fetched_at = excluded.fetched_at,
    expires_at = excluded.expires_at,
    refresh_at = excluded.refresh_at
`

const CLAIM = sql`
  UPDATE sts_policies
  SET refresh_at = $1::timestamptz + interval '1 hour'
  WHERE domain IN (
    SELECT domain
    FROM sts_policies
    WHERE refresh_at < $1
    ORDER BY refresh_at
    LIMIT 100
    FOR UPDATE SKIP LOCKED
  )
  RETURNING domain, id
`

interface StsPolicyRow {
  readonly domain: string
  readonly id: string
  readonly mode: StsPolicy['mode']
  readonly mx: string[]
  readonly max_age: number
  readonly expires_at: Date
}

export function createStsStore({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): StsStore {
  const loader = createBatcher<string, StoredStsPolicy | null>(
    async (domains) => {
      const { rows } = await db.query<StsPolicyRow>(LOAD, [domains])
      const found = new Map(rows.map((row) => [row.domain, storedPolicyOf(row)]))
      return domains.map((domain) => found.get(domain) ?? null)
    },
    { max: 500, concurrency: 1 },
  )

  async function save(domain: string, policy: StsPolicy): Promise<StoredStsPolicy> {
    const now = clock.now()
    const stored = { ...policy, expiresAtMs: now + policy.maxAgeSeconds * 1000 }
    // within a day and well before it expires, so that an attacker cannot block the fetch until it has expired
    const refreshAt = new Date(now + Math.min(DAY_SECONDS, policy.maxAgeSeconds / 2) * 1000)
    const values = [
      domain,
      policy.id,
      policy.mode,
      policy.mx,
      policy.maxAgeSeconds,
      new Date(now),
      new Date(stored.expiresAtMs),
      refreshAt,
    ]
    await db
      .query(SAVE, values)
      .catch((error: unknown) => log.debug({ err: error, domain }, 'failed to store an MTA-STS policy'))
    return stored
  }

  async function claimDue(): Promise<{ domain: string; id: string }[]> {
    const now = new Date(clock.now())
    await db.query('DELETE FROM sts_policies WHERE expires_at < $1', [now])
    return (await db.query<{ domain: string; id: string }>(CLAIM, [now])).rows
  }

  return {
    load: (domain) =>
      loader.add(domain).catch((error: unknown) => {
        log.debug({ err: error, domain }, 'failed to read stored MTA-STS policies')
        return null
      }),
    save,
    claimDue,
  }
}

function storedPolicyOf({
  id,
  mode,
  mx,
  max_age: maxAgeSeconds,
  expires_at: expiresAt,
}: StsPolicyRow): StoredStsPolicy {
  return { id, mode, mx, maxAgeSeconds, expiresAtMs: expiresAt.getTime() }
}
