/**
 * Every figure that Mailstead tells, one row each: what it counts, how, and by which labels. Names are a promise (docs/metrics.md is held
 * equal by a test). Labels are names of ours, and sites, of which each process names a bounded number: series stay few.
 */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram, rising. */
  readonly buckets?: readonly number[]
  /** Which processes tell it; `queue`: one worker for the whole installation. */
  readonly by: 'all' | 'api' | 'outbound' | 'inbound' | 'submission' | 'queue'
}

/** An accept takes milliseconds, a large attachment seconds. */
const HTTP = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** A code is there within seconds, a newsletter within hours. */
const DELIVERY = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400]
const CONVERSATION = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const BATCH = [1, 2, 5, 10, 25, 50, 100, 250, 500]

export const METRICS = {
  process_cpu_seconds_total: { type: 'counter', help: 'User and system CPU time.', labels: [], by: 'all' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.', labels: [], by: 'all' },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'When the process started, in seconds since 1970.',
    labels: [],
    by: 'all',
  },
  mailstead_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'How late the event loop was in the last seconds: at the 99th percentile (p99) and at worst (max).',
    labels: ['at'],
    by: 'all',
  },
  mailstead_redis_up: { type: 'gauge', help: '1 while this process reaches Redis.', labels: [], by: 'all' },
  mailstead_database_up: { type: 'gauge', help: '1 while this process reaches PostgreSQL.', labels: [], by: 'all' },
  mailstead_database_connections: {
    type: 'gauge',
    help: 'Connections to PostgreSQL by pool, in use and idle, and callers that wait for one.',
    labels: ['pool', 'state'],
    by: 'all',
  },
  mailstead_http_requests_total: {
    type: 'counter',
    help: 'Requests answered, by route and status.',
    labels: ['route', 'status'],
    by: 'api',
  },
  mailstead_http_request_duration_seconds: {
    type: 'histogram',
    help: 'From the first line of a request to its answer.',
    labels: ['route'],
    buckets: HTTP,
    by: 'api',
  },
  mailstead_accept_batches_total: { type: 'counter', help: 'Commits that stored messages.', labels: [], by: 'api' },
  mailstead_accept_messages_total: { type: 'counter', help: 'Messages in those commits.', labels: [], by: 'api' },
  mailstead_tracking_hits_total: {
    type: 'counter',
    labels: ['result'],
    by: 'api',
    help: 'Opens and clicks: stored; held, answered while PostgreSQL was away (and stored later); lost; surplus, too many of one recipient.',
  },
  mailstead_attempts_total: {
    type: 'counter',
    help: 'Attempts that ended, by tier and outcome.',
    labels: ['tier', 'outcome'],
    by: 'outbound',
  },
  mailstead_site_attempts_total: {
    type: 'counter',
    help: 'The same by site; the busiest have their own name, all others are "other".',
    labels: ['site', 'outcome'],
    by: 'outbound',
  },
  mailstead_delivery_seconds: {
    type: 'histogram',
    help: 'From acceptance, or the scheduled time, to the 250 of the receiver.',
    labels: ['tier'],
    buckets: DELIVERY,
    by: 'outbound',
  },
  mailstead_attempt_seconds: {
    type: 'histogram',
    help: 'How long attempts took.',
    labels: ['outcome'],
    buckets: CONVERSATION,
    by: 'outbound',
  },
  mailstead_outbound_sessions: { type: 'gauge', help: 'SMTP sessions in use.', labels: [], by: 'outbound' },
  mailstead_outbound_held: {
    type: 'gauge',
    help: 'Recipients claimed that wait for a session.',
    labels: [],
    by: 'outbound',
  },
  mailstead_source_attempts_total: {
    type: 'counter',
    help: 'Attempts by a source of ours that made a connection, by outcome.',
    labels: ['source', 'outcome'],
    by: 'outbound',
  },
  mailstead_source_sessions: {
    type: 'gauge',
    help: 'SMTP sessions in use, by source.',
    labels: ['source'],
    by: 'outbound',
  },
  mailstead_source_held: {
    type: 'gauge',
    help: 'Recipients claimed that wait for a session, by source.',
    labels: ['source'],
    by: 'outbound',
  },
  mailstead_outbound_sites: { type: 'gauge', help: 'Sites with something to do.', labels: [], by: 'outbound' },
  mailstead_outbound_unsettled: {
    type: 'gauge',
    help: 'Results that wait to be written down.',
    labels: [],
    by: 'outbound',
  },
  mailstead_settle_batch_size: {
    type: 'histogram',
    help: 'Results written in one commit.',
    labels: [],
    buckets: BATCH,
    by: 'outbound',
  },
  mailstead_submission_mails_total: {
    type: 'counter',
    help: 'Mails handed in by SMTP, by the code of the last reply.',
    labels: ['reply'],
    by: 'submission',
  },
  mailstead_submission_seconds: {
    type: 'histogram',
    help: 'From DATA to that reply.',
    labels: [],
    buckets: HTTP,
    by: 'submission',
  },
  mailstead_submission_logins_total: { type: 'counter', help: 'Logins by SMTP.', labels: ['result'], by: 'submission' },
  mailstead_submission_connections: {
    type: 'gauge',
    help: 'Connections to the submission ports.',
    labels: [],
    by: 'submission',
  },
  mailstead_submission_held_bytes: { type: 'gauge', help: 'Octets of mails under way.', labels: [], by: 'submission' },
  mailstead_inbound_letters_total: {
    type: 'counter',
    help: 'Letters taken at the inbound port, by what they were sent to.',
    labels: ['to'],
    by: 'inbound',
  },
  mailstead_inbound_reports_total: {
    type: 'counter',
    help: 'Reports that were read, by kind and by what they changed.',
    labels: ['kind', 'result'],
    by: 'inbound',
  },
  mailstead_tls_reports_total: {
    type: 'counter',
    help: 'Reports of others on TLS with our mail domains that were read, by the way they came and what became of them.',
    labels: ['via', 'result'],
    by: 'inbound',
  },
  mailstead_tls_reported_sessions_total: {
    type: 'counter',
    help: "Sessions that such reports tell of; unsigned ones may be anybody's.",
    labels: ['result', 'proof'],
    by: 'inbound',
  },
  mailstead_queue_depth: {
    type: 'gauge',
    help: 'Recipients that wait for their time (scheduled), are ready (ready), or go to a stopped domain or site (suspended).',
    labels: ['tier', 'place'],
    by: 'queue',
  },
  mailstead_queue_oldest_seconds: {
    type: 'gauge',
    help: 'How long the oldest waiting recipient has been due; 0 where none is.',
    labels: ['tier'],
    by: 'queue',
  },
  mailstead_suspensions: { type: 'gauge', help: 'What is stopped by the operator.', labels: ['kind'], by: 'queue' },
  mailstead_webhook_backlog: {
    type: 'gauge',
    help: 'Webhook deliveries that wait; counted up to 100,000.',
    labels: [],
    by: 'queue',
  },
  mailstead_webhook_oldest_seconds: {
    type: 'gauge',
    help: 'How long the oldest of them has been due; 0 where none is.',
    labels: [],
    by: 'queue',
  },
  mailstead_campaigns: {
    type: 'gauge',
    help: 'Campaigns that are not over, by status.',
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
    help: 'How long the oldest of them has been due; 0 where none is.',
    labels: [],
    by: 'queue',
  },
  mailstead_inbound_waiting: {
    type: 'gauge',
    help: 'Reports that were taken and not applied yet; counted up to 100,000.',
    labels: [],
    by: 'queue',
  },
  mailstead_suppressions_held: {
    type: 'gauge',
    help: 'Suppressions that wait for a second proof, or because a receiver seems broken.',
    labels: ['hold'],
    by: 'queue',
  },
  mailstead_notices: {
    type: 'gauge',
    help: 'What only the operator can mend and has not acknowledged.',
    labels: ['kind'],
    by: 'queue',
  },
} as const satisfies Record<string, MetricRow>

export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[]

export function rowOf(name: MetricName): MetricRow {
  return METRICS[name]
}
