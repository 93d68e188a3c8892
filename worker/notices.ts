/**
 * Raises operator notices for stored conditions: receivers and workspaces that a rule suspended, sources that are gone
 * or on a blocklist, pools without a running node, DKIM keys that wait for a person, a database that lost changes,
 * suppressions held because of an outage, dead links, and what retention should have deleted. The code that stores
 * these conditions does not know notices. Each round reports all current conditions with their start; reporting one
 * again changes nothing, so any number of workers may do this.
 */
import { hostname } from 'node:os'
import { REGIONS } from '#config/regions.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { findDeadLinks } from '#src/going-live/public-urls.ts'
import { LATE_MS, readOverdue } from '#src/retention/overdue.ts'
import { defaultPeriods } from '#src/retention/periods.ts'
import { SILENT_SECONDS } from '#src/operator/nodes.ts'
import { clearOldNotices, raiseNotices, type NewNotice } from '#src/operator/notices.ts'
import { RATE_PAUSE_PREFIX } from '#src/queue/suspensions.ts'
import { findKeyNotices } from './key-notices.ts'
import type { Round } from './loop.ts'
import { countText } from '#src/platform/plural.ts'

const MAX_PER_SOURCE = 1000
const DAY_MS = 24 * 3600 * 1000
const MONTH_MS = 30 * DAY_MS

export function createNoticeRound(ctx: Context): Round {
  const ofSettings = noticesOfSettings(ctx)
  return async () => {
    // one query after the other: together, each would hold a connection of its own
    for (const read of SOURCES) await raiseNotices(ctx.db, 'stands', await read(ctx.db))
    await raiseNotices(ctx.db, 'stands', await findKeyNotices(ctx))
    await raiseNotices(ctx.db, 'stands', ofSettings)
    await raiseNotices(ctx.db, 'stands', await noticesOfRetention(ctx))
    await clearOldNotices(ctx.db, new Date(ctx.clock.now()))
    return false
  }
}

/**
 * Conditions of the settings, which each machine has of its own. They stand since the start of this process, because
 * settings are read only then; each start with them counts.
 */
function noticesOfSettings({ config, clock }: Pick<Context, 'config' | 'clock'>): readonly NewNotice[] {
  const dead = findDeadLinks(config)
  if (dead === null) return []
  const text = `${dead.detail}; ${dead.todo}`
  return [{ kind: 'dead-links', subject: `worker on ${hostname()}`, text, count: 1, at: new Date(clock.now()) }]
}

/** Stands since it is late, and anew each month: old notices are deleted. */
async function noticesOfRetention({
  config,
  db,
  clock,
}: Pick<Context, 'config' | 'db' | 'clock'>): Promise<NewNotice[]> {
  const nowMs = clock.now()
  const late = (await readOverdue(db, defaultPeriods(config), nowMs)).filter(({ lateMs }) => lateMs > LATE_MS)
  return late.map(({ period, lateMs, what }) => ({
    kind: 'retention-overdue',
    subject: period,
    text:
      `${what} should have been deleted ${countText(Math.floor(lateMs / DAY_MS), 'day')} ago; ` +
      'see mailstead retention list',
    count: 1,
    at: new Date(Math.max(Math.floor((nowMs - lateMs) / DAY_MS) * DAY_MS, Math.floor(nowMs / MONTH_MS) * MONTH_MS)),
  }))
}
/** A process that reports is running; its node must not be drained. */
const SENDING_PROCESSES = sql`
  SELECT p.sources, p.sources = '{}' AND p.started_at > now() - interval '1 minute' AS is_starting
  FROM node_processes p
  JOIN nodes n ON n.name = p.node
  WHERE 'outbound' = ANY (p.roles)
    AND NOT n.is_draining
    AND p.seen_at >= now() - ${SILENT_SECONDS} * interval '1 second'
`
const REGION_POOLS = Object.values(REGIONS)
  .map(({ pool }) => pool)
  .join(',')

const SOURCES: readonly ((db: Queryable) => Promise<NewNotice[]>)[] = [
  // a receiver may be suspended only for one workspace or one source
  noticesFrom(sql`
    SELECT 'receiver-suspended' AS kind,
      s.pace || ' by ' || s.source || coalesce(' for ' || s.workspace_id, '') AS subject,
      'rule ' || s.rule || ', until ' || ${utc('s.until')} || ': ' || s.reply AS text, 1 AS count, s.created_at AS at
    FROM receiver_suspensions s
    WHERE s.until > now()
    ORDER BY s.created_at DESC`),
  // a source that was never found on a host is not gone: it is not set up yet
  noticesFrom(sql`
    SELECT 'source-gone' AS kind, s.name AS subject,
      host(s.address) || ' has been on no sending host since ' || ${utc('s.gone_since')} AS text,
      1 AS count, s.gone_since AS at
    FROM egress_sources s
    WHERE s.gone_since IS NOT NULL AND s.machine IS NOT NULL AND s.paused_at IS NULL`),
  noticesFrom(sql`
    SELECT 'blocklisted' AS kind, s.name AS subject, c.detail || '; ' || c.todo AS text, 1 AS count, c.since AS at
    FROM egress_checks c
    JOIN egress_sources s ON s.id = c.source_id
    WHERE c.name = 'blocklists' AND c.status = 'failed'`),
  noticesFrom(sql`
    SELECT 'workspace-paused' AS kind, s.subject, s.reason AS text, 1 AS count, s.created_at AS at
    FROM suspensions s
    WHERE s.kind = 'workspace' AND starts_with(s.reason, '${RATE_PAUSE_PREFIX}')`),
  noticesFrom(sql`
    SELECT 'database-older' AS kind, 'PostgreSQL' AS subject,
      'a backup was restored, or a standby took over; changes are missing '
        || coalesce('from ' || ${utc('f.lost_from')} || ' ', '')
        || 'until ' || ${utc('coalesce(f.lost_until, f.detected_at)')}
        || '; see "After you restore a backup" in docs/guides/operations.md' AS text,
      1 AS count, f.detected_at AS at
    FROM restore_fence f
    WHERE f.detected_at IS NOT NULL`),
  // one failure passes by itself more often than not
  noticesFrom(sql`
    SELECT 'certificate-failing' AS kind, c.name || ' (' || c.use || ')' AS subject,
      c.failures || ' requests failed; ' || coalesce('the certificate expires ' || ${utc('c.expires_at')},
        'there is no certificate') || ': ' || c.last_error AS text, 1 AS count, c.failing_since AS at
    FROM certificates c
    WHERE c.failures > 1 AND (c.origin = 'operator' OR c.wanted_at > now() - interval '14 days')`),
  // while nothing sends at all, no pool is special; a process that starts has not read its sources yet
  noticesFrom(sql`
    SELECT 'no-node-source' AS kind, m.pool AS subject,
      'no running node has one of its sources (' || string_agg(s.name, ', ' ORDER BY s.name)
        || '), so the mail of its senders waits; start the node that has them, or add a source to the pool' AS text,
      1 AS count, max(greatest(s.created_at, s.gone_since)) AS at
    FROM egress_members m
    JOIN egress_sources s ON s.id = m.source_id
    WHERE (SELECT bool_and(NOT p.is_starting) FROM (${SENDING_PROCESSES}) p)
      AND s.paused_at IS NULL
      AND (
        m.pool = ANY ('{${REGION_POOLS}}')
        OR EXISTS (SELECT FROM domains d WHERE d.egress_pool = m.pool)
        OR EXISTS (SELECT FROM workspaces w WHERE w.egress_pool = m.pool)
      )
    GROUP BY m.pool
    HAVING NOT array_agg(s.name) && (
      SELECT coalesce(array_agg(source), '{}')
      FROM (${SENDING_PROCESSES}) p, unnest(p.sources) AS source
    )`),
  noticesFrom(sql`
    SELECT 'outage' AS kind, h.receiver AS subject,
      'suppressions have been held since ' || ${utc('min(h.held_at)')} AS text,
      count(*) AS count, min(h.held_at) AS at
    FROM held_suppressions h
    WHERE h.hold = 'outage'
    GROUP BY h.receiver`),
]

function noticesFrom(text: string): (db: Queryable) => Promise<NewNotice[]> {
  return async (db) => (await db.query<NewNotice>(`${text}\nLIMIT ${MAX_PER_SOURCE}`)).rows
}

function utc(time: string): string {
  return `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}
