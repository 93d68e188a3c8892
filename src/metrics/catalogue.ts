/**
 * Every metric that Mailstead reports, one row each: type, meaning, labels and process. The names are a public
 * contract; docs/reference/metrics.md lists this table. Label values are bounded: names that Mailstead defines, and for
 * sites a bounded number per process.
 */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** The name before version 0.2. It is still reported, so that existing dashboards and alerts work. */
  readonly formerly?: string
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[]
  /** The processes that report it; `queue`: one worker for the whole installation. */
  readonly by: 'all' | 'api' | 'outbound' | 'inbound' | 'submission' | 'queue'
}

/** Accepting a message takes milliseconds, a large attachment seconds. */
const HTTP = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** A login code arrives within seconds, a newsletter within hours. */
const DELIVERY = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400]
const CONVERSATION = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const BATCH = [1, 2, 5, 10, 25, 50, 100, 250, 500]

export const METRICS = {
  process_cpu_seconds_total: { type: 'counter', help: 'User and system CPU time.', labels: [], by: 'all' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.', labels: [], by: 'all' },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'Start time of the process, in seconds since 1970.',
    labels: [],
    by: 'all',
  },
  mailstead_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop in the last seconds: 99th percentile (p99) and maximum (max).',
    labels: ['at'],
    by: 'all',
  },
  mailstead_redis_up: { type: 'gauge', help: '1 while the process reaches Redis, else 0.', labels: [], by: 'all' },
  mailstead_database_up: {
    type: 'gauge',
    help: '1 while the process reaches PostgreSQL, else 0.',
    labels: [],
    by: 'all',
  },
  mailstead_clock_skew_seconds: {
    type: 'gauge',
    help: "How far the clock of the process's machine is ahead of PostgreSQL's; negative if it is behind.",
    labels: [],
    by: 'all',
  },
  mailstead_database_connections: {
    type: 'gauge',
    help: 'PostgreSQL connections by pool: in use, idle, and callers that wait for one.',
    labels: ['pool', 'state'],
    by: 'all',
  },
  mailstead_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests answered, by route and status.',
    labels: ['route', 'status'],
    by: 'api',
  },
  mailstead_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the first line of a request to its response.',
    labels: ['route'],
    buckets: HTTP,
    by: 'api',
  },
  mailstead_accept_batches_total: { type: 'counter', help: 'Commits that stored messages.', labels: [], by: 'api' },
  mailstead_accept_messages_total: {
    type: 'counter',
    help: 'Messages stored by those commits.',
    labels: [],
    by: 'api',
  },
  mailstead_tracking_hits_total: {
    type: 'counter',
    labels: ['result'],
    by: 'api',
    help: "Opens and clicks: stored, held (stored when PostgreSQL is back), lost, surplus (over a recipient's limit).",
  },
  mailstead_attempts_total: {
    type: 'counter',
    help: 'Delivery attempts that ended, by tier and outcome.',
    labels: ['tier', 'outcome'],
    by: 'outbound',
  },
  mailstead_site_attempts_total: {
    type: 'counter',
    help: 'Delivery attempts that ended, by site and outcome. All but the busiest sites are counted as `other`.',
    labels: ['site', 'outcome'],
    by: 'outbound',
  },
  mailstead_delivery_seconds: {
    type: 'histogram',
    help: "Time from acceptance, or from the scheduled time, to the receiver's 250 reply.",
    labels: ['tier'],
    buckets: DELIVERY,
    by: 'outbound',
  },
  mailstead_attempt_seconds: {
    type: 'histogram',
    help: 'Duration of delivery attempts.',
    labels: ['outcome'],
    buckets: CONVERSATION,
    by: 'outbound',
  },
  mailstead_outbound_sessions: { type: 'gauge', help: 'SMTP sessions in use.', labels: [], by: 'outbound' },
  mailstead_outbound_waiting: {
    formerly: 'mailstead_outbound_held',
    type: 'gauge',
    help: 'Claimed recipients that wait for a session.',
    labels: [],
    by: 'outbound',
  },
  mailstead_source_attempts_total: {
    type: 'counter',
    help: 'Attempts that made a connection, by source and outcome.',
    labels: ['source', 'outcome'],
    by: 'outbound',
  },
  mailstead_source_sessions: {
    type: 'gauge',
    help: 'SMTP sessions in use, by source.',
    labels: ['source'],
    by: 'outbound',
  },
  mailstead_source_waiting: {
    formerly: 'mailstead_source_held',
    type: 'gauge',
    help: 'Claimed recipients that wait for a session, by source.',
    labels: ['source'],
    by: 'outbound',
  },
  mailstead_outbound_sites: { type: 'gauge', help: 'Sites that have recipients to send.', labels: [], by: 'outbound' },
  mailstead_outbound_unwritten_results: {
    formerly: 'mailstead_outbound_unsettled',
    type: 'gauge',
    help: 'Delivery results that are not yet committed to PostgreSQL.',
    labels: [],
    by: 'outbound',
  },
  mailstead_outbound_journal_failing: {
    type: 'gauge',
    help: '1 while the journal of results cannot be written: a crash now may send accepted mail again.',
    labels: [],
    by: 'outbound',
  },
  mailstead_result_batch_size: {
    formerly: 'mailstead_settle_batch_size',
    type: 'histogram',
    help: 'Delivery results per commit.',
    labels: [],
    buckets: BATCH,
    by: 'outbound',
  },
  mailstead_submission_messages_total: {
    formerly: 'mailstead_submission_mails_total',
    type: 'counter',
    help: 'Messages submitted by SMTP, by the code of the last reply.',
    labels: ['reply'],
    by: 'submission',
  },
  mailstead_submission_seconds: {
    type: 'histogram',
    help: 'Time from DATA to the last reply.',
    labels: [],
    buckets: HTTP,
    by: 'submission',
  },
  mailstead_submission_logins_total: {
    type: 'counter',
    help: 'SMTP authentication attempts, by result.',
    labels: ['result'],
    by: 'submission',
  },
  mailstead_submission_connections: {
    type: 'gauge',
    help: 'Open connections to the submission ports.',
    labels: [],
    by: 'submission',
  },
  mailstead_submission_memory_bytes: {
    formerly: 'mailstead_submission_held_bytes',
    type: 'gauge',
    help: 'Bytes of messages that are being received.',
    labels: [],
    by: 'submission',
  },
  mailstead_inbound_messages_total: {
    formerly: 'mailstead_inbound_letters_total',
    type: 'counter',
    help: 'Messages accepted at the inbound port, by the kind of address.',
    labels: ['to'],
    by: 'inbound',
  },
  mailstead_inbound_reports_total: {
    type: 'counter',
    help: 'Bounces and complaints that were processed, by kind and result.',
    labels: ['kind', 'result'],
    by: 'inbound',
  },
  mailstead_tls_reports_total: {
    type: 'counter',
    help: "TLS reports from others about the operator's mail domains, by channel and result.",
    labels: ['via', 'result'],
    by: 'inbound',
  },
  mailstead_tls_reported_sessions_total: {
    type: 'counter',
    help: 'Sessions counted in those TLS reports. The source of an unsigned report is unverified.',
    labels: ['result', 'proof'],
    by: 'inbound',
  },
  mailstead_queue_depth: {
    type: 'gauge',
    help: 'Queued recipients: due later (scheduled), ready, or of a suspended domain or site (suspended).',
    labels: ['tier', 'place'],
    by: 'queue',
  },
  mailstead_queue_oldest_seconds: {
    type: 'gauge',
    help: 'Time since the oldest waiting recipient became due; 0 if none waits.',
    labels: ['tier'],
    by: 'queue',
  },
  mailstead_suspensions: { type: 'gauge', help: 'Suspensions in force, by kind.', labels: ['kind'], by: 'queue' },
  mailstead_webhook_backlog: {
    type: 'gauge',
    help: 'Webhook deliveries that wait; counted up to 100,000.',
    labels: [],
    by: 'queue',
  },
  mailstead_webhook_oldest_seconds: {
    type: 'gauge',
    help: 'Time since the oldest waiting webhook delivery became due; 0 if none waits.',
    labels: [],
    by: 'queue',
  },
  mailstead_campaigns: {
    type: 'gauge',
    help: 'Campaigns that have not ended, by status.',
    labels: ['status'],
    by: 'queue',
  },
  mailstead_automation_steps_due: {
    type: 'gauge',
    help: 'Contacts in active automations whose next step is due; counted up to 100,000.',
    labels: [],
    by: 'queue',
  },
  mailstead_automation_oldest_seconds: {
    type: 'gauge',
    help: 'Time since the oldest of those steps became due; 0 if none is.',
    labels: [],
    by: 'queue',
  },
  mailstead_inbound_waiting: {
    type: 'gauge',
    help: 'Bounces and complaints that are accepted and not yet processed; counted up to 100,000.',
    labels: [],
    by: 'queue',
  },
  mailstead_suppressions_pending: {
    formerly: 'mailstead_suppressions_held',
    type: 'gauge',
    help: 'Suppressions that wait for a second bounce, or because the receiver appears to have an outage.',
    labels: ['hold'],
    by: 'queue',
  },
  mailstead_notices: {
    type: 'gauge',
    help: 'Problems that only the operator can fix and has not acknowledged.',
    labels: ['kind'],
    by: 'queue',
  },
  mailstead_retention_overdue_seconds: {
    type: 'gauge',
    help: 'How long ago the oldest stored bodies, events or messages should have been deleted; 0 if none is overdue.',
    labels: ['data'],
    by: 'queue',
  },
  mailstead_doctor_findings: {
    type: 'gauge',
    help: 'What a live installation lacks, by severity: failed or warning; `mailstead doctor` names it.',
    labels: ['severity'],
    by: 'queue',
  },
} as const satisfies Record<string, MetricRow>

export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[]

export function rowOf(name: MetricName): MetricRow {
  return METRICS[name]
}
