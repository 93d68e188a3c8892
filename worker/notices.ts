/**
 * Makes notices of what is stored already: receivers and workspaces that were stopped by rule, sources that are gone or on a blocklist,
 * suppressions held for an outage. Whoever stores these has nothing to do with notices and waits for none. Each look tells all that
 * stands, with the time since when; what was told before changes nothing, so any number of workers may look.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { clearOldNotices, raiseNotices, type NewNotice } from '#src/operator/notices.ts'
import { RATE_PAUSE_PREFIX } from '#src/queue/suspensions.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 10_000
const MAX_PER_SOURCE = 1000

export function noticeLoop(ctx: Context): LoopSpec {
  return {
    name: 'notices',
    everyMs: Math.max(200, EVERY_MS * Math.min(1, ctx.config.retryScale)),
    round: async () => {
      const found = await Promise.all(SOURCES.map((read) => read(ctx.db)))
      for (const notices of found) await raiseNotices(ctx.db, 'stands', notices)
      await clearOldNotices(ctx.db, new Date(ctx.clock.now()))
      return false
    },
  }
}

const SOURCES: readonly ((db: Queryable) => Promise<NewNotice[]>)[] = [
  // a receiver may be stopped for a workspace, or by a source, alone
  noticesFrom(`SELECT 'receiver-suspended' AS kind, s.pace || ' by ' || s.source || coalesce(' for ' || s.workspace_id, '') AS subject,
      'rule ' || s.rule || ', until ' || ${utc('s.until')} || ': ' || s.reply AS text, 1 AS count, s.created_at AS at
    FROM receiver_suspensions s WHERE s.until > now() ORDER BY s.created_at DESC`),
  // one that was never found is not gone: it is not there yet
  noticesFrom(`SELECT 'source-gone' AS kind, s.name AS subject, host(s.address) || ' is on no machine that sends since ' || ${utc('s.gone_since')} AS text,
      1 AS count, s.gone_since AS at
    FROM egress_sources s WHERE s.gone_since IS NOT NULL AND s.machine IS NOT NULL AND s.paused_at IS NULL`),
  noticesFrom(`SELECT 'blocklisted' AS kind, s.name AS subject, c.detail || '; ' || c.todo AS text, 1 AS count, c.since AS at
    FROM egress_checks c JOIN egress_sources s ON s.id = c.source_id WHERE c.name = 'blocklists' AND c.status = 'failed'`),
  noticesFrom(`SELECT 'workspace-paused' AS kind, s.subject, s.reason AS text, 1 AS count, s.created_at AS at
    FROM suspensions s WHERE s.kind = 'workspace' AND starts_with(s.reason, '${RATE_PAUSE_PREFIX}')`),
  noticesFrom(`SELECT 'outage' AS kind, h.receiver AS subject, 'suppressions are held since ' || ${utc('min(h.held_at)')} AS text,
      count(*) AS count, min(h.held_at) AS at
    FROM held_suppressions h WHERE h.hold = 'outage' GROUP BY h.receiver`),
]

function noticesFrom(text: string): (db: Queryable) => Promise<NewNotice[]> {
  return async (db) => (await db.query<NewNotice>(`${text} LIMIT ${MAX_PER_SOURCE}`)).rows
}

function utc(time: string): string {
  return `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}
