/**
 * Every table, and what bounds it. `weeks`: its partitions are dropped (partition-drops.ts). `deleted`: a file deletes
 * its rows after a time, or once they are processed. `objects`: customers or the operator create and delete its rows;
 * they go with their workspace. `few`: its rows are as many as something that does not grow with the mail. `own`: knex.
 */
export type Bound = 'weeks' | 'deleted' | 'objects' | 'few' | 'own'

export interface StoredTable {
  readonly bound: Bound
  /** `deleted`: the file. Otherwise why. */
  readonly by: string
}

const ROWS = `
messages: weeks; MESSAGE_RETENTION_DAYS
message_tags: weeks; MESSAGE_RETENTION_DAYS
recipients: weeks; MESSAGE_RETENTION_DAYS
message_bodies: weeks; BODY_RETENTION_DAYS
attachments: weeks; BODY_RETENTION_DAYS
attempts: weeks; EVENT_RETENTION_DAYS
events: weeks; EVENT_RETENTION_DAYS
campaign_recipients: deleted; src/retention/campaign-ledgers.ts
mail_contents: deleted; src/retention/campaign-ledgers.ts
retention_progress: deleted; src/retention/row-deletion.ts
rewrite_notes: deleted; src/retention/rewrite-copy.ts
certificate_challenges: deleted; src/certificates/certificate-store.ts
certificates: deleted; src/certificates/certificate-store.ts
changes: deleted; worker/housekeeping.ts
api_key_secrets: deleted; worker/housekeeping.ts
audit_log: deleted; src/operator/audit-log.ts
backups: deleted; src/operator/backup-log.ts
lost_mail: deleted; worker/housekeeping.ts
automation_calls: deleted; src/automations/webhook-calls.ts
automation_mails: deleted; src/automations/maintenance.ts
automation_step_changes: deleted; src/automations/maintenance.ts
campaign_changes: deleted; src/campaigns/statistics.ts
contact_changes: deleted; worker/housekeeping.ts
dkim_zone_records: deleted; src/domains/dkim-zone.ts
domain_removals: deleted; src/domains/domain-removal.ts
domain_sites: deleted; worker/housekeeping.ts
dry_runs: deleted; src/operator/dry-runs.ts
egress_days: deleted; worker/housekeeping.ts
enrolment_changes: deleted; src/automations/maintenance.ts
enrolments: deleted; src/automations/maintenance.ts
erasures: deleted; worker/housekeeping.ts
held_suppressions: deleted; src/suppression/pending-suppressions.ts
idempotency_keys: deleted; worker/housekeeping.ts
import_chunks: deleted; src/imports/purge-imports.ts
import_seen: deleted; src/imports/purge-imports.ts
imports: deleted; worker/housekeeping.ts
inbound_reports: deleted; worker/housekeeping.ts
forward_addresses: deleted; src/inbound-mail/forward-addresses.ts
received_emails: deleted; src/inbound-mail/received-emails.ts
inbound_usage: deleted; src/inbound-mail/received-emails.ts
learned_limits: deleted; src/shaping/learned-limits.ts
leases: deleted; worker/dead-leases.ts
let_go: deleted; worker/resume-suspended.ts
list_snapshots: deleted; src/stores/list-snapshots.ts
member_snapshots: deleted; src/contacts/member-snapshots.ts
membership_changes: deleted; src/contacts/apply-counter-deltas.ts
node_processes: deleted; src/operator/nodes.ts
nodes: deleted; src/operator/nodes.ts
oauth_states: deleted; src/providers/sign-in-state.ts
operator_actions: deleted; worker/housekeeping.ts
operator_notices: deleted; src/operator/notices.ts
received_tls_reports: deleted; worker/housekeeping.ts
receiver_hours: deleted; worker/pending-suppressions.ts
receiver_suspensions: deleted; worker/housekeeping.ts
sandbox_inbox: deleted; src/sandbox/inbox.ts
statistics: deleted; src/statistics/roll-up.ts
suppression_reviews: deleted; src/suppression/suppression-reviews.ts
link_clicks: deleted; src/statistics/roll-up.ts
receiver_replies: deleted; src/statistics/receiver-replies.ts
sts_policies: deleted; mta/security/sts-store.ts
subscribe_days: deleted; worker/housekeeping.ts
tls_report_arrivals: deleted; worker/housekeeping.ts
dmarc_report_arrivals: deleted; worker/housekeeping.ts
dmarc_reports: deleted; worker/housekeeping.ts
dmarc_alerts: deleted; worker/housekeeping.ts
dmarc_source_names: deleted; worker/housekeeping.ts
tls_reports: deleted; src/tls-reports/send.ts
tls_results: deleted; src/tls-reports/send.ts
tracking_hits: deleted; src/tracking/hit-recorder.ts
unconfirmed_grants: deleted; src/providers/unconfirmed-grants.ts
usage: deleted; worker/housekeeping.ts
webhook_attempts: deleted; worker/housekeeping.ts
webhook_deliveries: deleted; worker/housekeeping.ts
workspace_hours: deleted; src/workspaces/rates.ts
user_sessions: deleted; src/people/user-sessions.ts
password_resets: deleted; src/people/user-sessions.ts
email_changes: deleted; src/people/user-sessions.ts
pending_logins: deleted; src/people/user-sessions.ts
invitations: deleted; src/people/user-sessions.ts
api_keys: objects; keys of a workspace
users: objects; people who sign in; the operator deletes them
login_methods: objects; a few for a user, deleted with it
workspace_members: objects; users of a workspace
audience_marks: objects; every thousandth member of an audience
audiences: objects; they are created by customers
automation_contents: objects; one for each version of a step
automation_steps: objects; one for each step of an automation
automation_versions: objects; one for each change of an automation
automation_webhook_secrets: objects; one for a workspace
automations: objects; they are created by customers
brandings: objects; one for a workspace, deleted with it
blocked_links: objects; they are created by the operator
campaigns: objects; they are created by customers
connected_accounts: objects; they are created by customers
contacts: objects; they are created by customers, and deleted with their last audience
dkim_keys: objects; two for a domain, and those that rotate
domains: objects; they are created by customers
dmarc_sources: objects; records of a DMARC report, deleted with it
egress_checks: objects; a few for a source
egress_members: objects; sources of a pool
egress_pools: objects; they are created by the operator
egress_sources: objects; they are created by the operator
erased_suppressions: objects; addresses that get no mail, which must not be forgotten
import_errors: objects; at most a thousand for an import, deleted with it
list_snapshot_blocks: objects; parts of a snapshot, deleted with it
member_listings: objects; positions in a snapshot, deleted with it
member_snapshot_blocks: objects; parts of a snapshot, deleted with it
memberships: objects; contacts of an audience
inbound_routes: objects; they are created by customers
received_attachments: objects; parts of a received email, deleted with it
removed_domains: objects; one for each domain that a customer removed, until it adds it again
retention_rules: objects; one for a plan or a workspace
segments: objects; they are created by customers
suppressions: objects; addresses that get no mail, which must not be forgotten
suspensions: objects; they are created by the operator
template_partials: objects; they are created by customers
template_versions: objects; one for each change of a template
templates: objects; they are created by customers
tls_rules: objects; they are created by the operator
webhook_endpoints: objects; they are created by customers
workspaces: objects; they are created by the operator
acme_accounts: few; one for each authority
acme_turn: few; one row
body_storage: few; one row
partition_rewrites: few; one row at a time
installation: few; one row
installation_mode: few; one row
live_checks: few; one for each check
open_mail: few; one row
report_cursor: few; one row
restore_fence: few; one row
statistics_cursors: few; two rows
store_probe: few; one row
migrations: own; one for each migration
migrations_lock: own; one row
migration_steps: own; one for each step of a migration
`

export const STORED_TABLES: ReadonlyMap<string, StoredTable> = new Map(
  ROWS.trim()
    .split('\n')
    .map((line) => {
      const [, table = '', bound = '', by = ''] = /^(\w+): (\w+); (.+)$/.exec(line) ?? []
      return [table, { bound: bound as Bound, by }]
    }),
)
