/**
 * Whether the sender of a message is still served: its links redirect, its hosted mail is shown and its pages are its
 * own only while its domain is not removed and its workspace not suspended (decision 041). A sender is a sending
 * domain, or the workspace for mail without one. One query for each sender every few seconds. If PostgreSQL is
 * unavailable or slow, the last known status counts, and without one the sender is open: an outage must not break the
 * links of everybody.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { createTtlCache } from '#src/concurrency/ttl-cache.ts'
import type { Context } from '#src/context.ts'
import { suspendedEntirely } from '#src/queue/suspensions.ts'
import { urgent } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import type { HitRef } from './tokens.ts'

export type SenderStatus = 'open' | 'suspended' | 'removed'

export interface SenderStatuses {
  /** By the id of a sending domain or workspace. Never rejects. */
  find(senderId: string): Promise<SenderStatus>
  /** The status of the sender of a message. Never rejects. */
  findOf(ref: HitRef): Promise<SenderStatus>
}

const FRESH = { max: 10_000, ttlMs: 5000 }
/** For outages of PostgreSQL. */
const LAST_KNOWN = { max: 10_000, ttlMs: 24 * 3600 * 1000 }
/** A reader does not wait longer for a store. */
const TIMEOUT_MS = 1000

const LOAD = urgent(
  'sender-status',
  sql`
    SELECT ${suspendedEntirely('s.workspace_id')} AS "isSuspended"
    FROM (
      SELECT workspace_id
      FROM domains
      WHERE id = $1
      UNION ALL
      SELECT id
      FROM workspaces
      WHERE id = $1
      UNION ALL
      SELECT d.workspace_id
      FROM removed_domains r
      JOIN domains d ON d.workspace_id = r.workspace_id AND d.domain = r.domain
      WHERE r.id = $1 AND d.verification_status IN ('verified', 'degraded')
    ) s
    LIMIT 1
  `,
)

/** For tokens of earlier versions, which do not name their sender. */
const SENDER_OF_MESSAGE = weekly(
  'sender-of-message',
  (weeks) => sql`
    SELECT coalesce(domain_id, workspace_id) AS id
    FROM messages
    WHERE id = $1 AND ${weeks.contain('id')}
  `,
)

export function createSenderStatuses(ctx: Pick<Context, 'db' | 'clock' | 'log'>): SenderStatuses {
  const fresh = createLoadingCache<SenderStatus>(ctx.clock, FRESH)
  const lastKnown = createTtlCache<SenderStatus>(ctx.clock, LAST_KNOWN)

  async function load(senderId: string): Promise<SenderStatus> {
    const { rows } = await ctx.db.query<{ isSuspended: boolean }>(LOAD, [senderId])
    const [row] = rows
    const status = row === undefined ? 'removed' : row.isSuspended ? 'suspended' : 'open'
    lastKnown.set(senderId, status)
    return status
  }

  async function find(senderId: string): Promise<SenderStatus> {
    const status = await within(fresh.get(senderId, () => load(senderId)))
    return status ?? lastKnown.get(senderId) ?? 'open'
  }

  /** Null if PostgreSQL fails or is slow. */
  async function within<T>(reply: Promise<T>): Promise<T | null> {
    const timer = new AbortController()
    const answer = await Promise.race([
      reply.catch((error: unknown) => {
        ctx.log.debug({ err: error }, 'failed to read the status of a sender; its last known status counts')
        return null
      }),
      sleep(TIMEOUT_MS, null, { signal: timer.signal }).catch(() => null),
    ])
    timer.abort()
    return answer
  }

  return {
    find,
    findOf: async ({ senderId, messageId }) => {
      if (senderId !== null) return find(senderId)
      const found = await within(ctx.db.query<{ id: string }>(SENDER_OF_MESSAGE.for([messageId]), [messageId]))
      const id = found?.rows[0]?.id
      return id === undefined ? 'open' : find(id)
    },
  }
}
