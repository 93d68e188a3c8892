/**
 * Creates partitions ahead of time, finds the weeks with open recipients, and deletes expired rows, such as idempotency
 * keys and webhook logs. Each step can be repeated; a step that fails runs again in the next round.
 */
import { CERTIFICATE_CLEANUP } from '#src/certificates/certificate-store.ts'
import { DELETE_UNREAD_SNAPSHOTS } from '#src/contacts/member-snapshots.ts'
import { DELETE_UNREAD_LIST_SNAPSHOTS } from '#src/stores/list-snapshots.ts'
import { deleteOldLedgers } from '#src/retention/campaign-ledgers.ts'
import type { Context } from '#src/context.ts'
import { DELETE_UNUSED_ADDRESSES } from '#src/inbound-mail/forward-addresses.ts'
import { deleteOldReceived } from '#src/inbound-mail/received-emails.ts'
import { clearOldAuditEntries } from '#src/operator/audit-log.ts'
import { pruneNodes } from '#src/operator/nodes.ts'
import { deleteEndedSql } from '#src/people/user-sessions.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { refreshOpenWeeks } from '#src/queue/open-weeks.ts'
import { sql } from '#src/stores/sql.ts'
import type { Round } from './loop.ts'

/** SQL expression: the smallest UUIDv7 of that time ago. */
function idOfAge(interval: string): string {
  const milliseconds = `(extract(epoch FROM now() - interval '${interval}') * 1000)::bigint`
  return `(lpad(to_hex(${milliseconds}), 12, '0') || repeat('0', 20))::uuid`
}

const OLD = [
  `DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`,
  `DELETE FROM webhook_attempts WHERE at < now() - interval '30 days'`,
  `DELETE FROM imports WHERE is_cleared AND finished_at < now() - interval '30 days'`, // its row errors quote cells
  `DELETE FROM webhook_deliveries WHERE state <> 'pending' AND created_at < now() - interval '30 days'`,
  `DELETE FROM inbound_reports WHERE id < ${idOfAge('30 days')} AND due_at IS NULL`,
  `DELETE FROM tls_report_arrivals WHERE id < ${idOfAge('7 days')}`, // no inbound server processes them
  `DELETE FROM received_tls_reports WHERE id < ${idOfAge('90 days')}`,
  `DELETE FROM dmarc_report_arrivals WHERE id < ${idOfAge('7 days')}`, // no inbound server processes them
  `DELETE FROM dmarc_reports WHERE id < ${idOfAge('90 days')}`,
  `DELETE FROM dmarc_alerts WHERE raised_at < now() - interval '90 days'`,
  `DELETE FROM dmarc_source_names WHERE checked_at < now() - interval '30 days'`, // checked again
  ...CERTIFICATE_CLEANUP,
  DELETE_UNUSED_ADDRESSES,
  DELETE_UNREAD_SNAPSHOTS,
  DELETE_UNREAD_LIST_SNAPSHOTS,
  `DELETE FROM changes WHERE created_at < now() - interval '30 minutes'`, // RESUME_WINDOW_MS is 10 minutes
  `DELETE FROM api_key_secrets WHERE expires_at < now()`,
  `DELETE FROM erasures WHERE state = 'done' AND ended_at < now() - interval '400 days'`,
  `DELETE FROM domain_sites WHERE seen_at < now() - interval '90 days'`,
  // the last day has the step of the warm-up
  sql`
    DELETE FROM egress_days d
    WHERE day < current_date - 400
      AND EXISTS (
        SELECT FROM egress_days later
        WHERE later.source_id = d.source_id AND later.receiver = d.receiver AND later.day > d.day
      )`,
  `DELETE FROM receiver_suspensions WHERE until < now() - interval '30 days'`,
  `DELETE FROM contact_changes WHERE id < ${idOfAge('365 days')}`,
  `DELETE FROM usage WHERE period < current_date - interval '3 years'`,
  `DELETE FROM lost_mail WHERE found_at < now() - interval '90 days'`,
  `DELETE FROM subscribe_days WHERE day < current_date - 30`,
  // unverified reports, which anybody may have sent
  sql`
    DELETE FROM dmarc_reports
    WHERE signer = ''
      AND id < (SELECT id FROM dmarc_reports WHERE signer = '' ORDER BY id DESC OFFSET 2000 LIMIT 1)`,
  sql`
    DELETE FROM received_tls_reports
    WHERE signer = ''
      AND id < (SELECT id FROM received_tls_reports WHERE signer = '' ORDER BY id DESC OFFSET 2000 LIMIT 1)`,
  // messages without a valid return-path
  sql`
    DELETE FROM inbound_reports
    WHERE message_id IS NULL
      AND id < (SELECT id FROM inbound_reports WHERE message_id IS NULL ORDER BY id DESC OFFSET 1000 LIMIT 1)`,
] as const

const DELETE_OLD_ACTIONS = sql`
  DELETE FROM operator_actions
  WHERE state <> 'running' AND coalesce(ended_at, now()) < now() - make_interval(days => $1)
`

export function createHousekeepingRound(ctx: Context): Round {
  return async () => {
    await ensurePartitions((statement) => ctx.db.query(statement), ctx.clock.now())
    await refreshOpenWeeks(ctx.db, ctx.clock.now())
    for (const statement of OLD) await ctx.db.query(statement)
    for (const statement of deleteEndedSql(ctx.config.sessionIdleHours)) await ctx.db.query(statement)
    await pruneNodes(ctx.db)
    const isMore = await deleteOldLedgers(ctx)
    const isMoreMail = await deleteOldReceived(ctx.db.bulk, ctx.config.inboundRetentionDays)
    await ctx.db.query(DELETE_OLD_ACTIONS, [ctx.config.auditRetentionDays])
    return (await clearOldAuditEntries(ctx.db, ctx.config.auditRetentionDays)) || isMore || isMoreMail
  }
}
