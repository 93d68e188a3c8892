/** What the processes report about requests, mail and webhooks. */
import type { MetricRow } from './metric-row.ts'

/** Accepting a message takes milliseconds, a large attachment seconds. */
const HTTP = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** A login code arrives within seconds, a newsletter within hours. */
const DELIVERY = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400]
const CONVERSATION = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const BATCH = [1, 2, 5, 10, 25, 50, 100, 250, 500]

export const MAIL_METRICS = {
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
    maxNames: 100,
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
    combine: 'max',
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
  mailstead_bounces_total: {
    type: 'counter',
    help: 'Recipients that bounced, by class, by type (hard or soft), and by how it is known (smtp or report).',
    labels: ['class', 'type', 'via'],
    by: 'mta',
  },
  mailstead_deferrals_total: {
    type: 'counter',
    help: 'Delivery attempts that were deferred, by class of the failure.',
    labels: ['class'],
    by: 'outbound',
  },
  mailstead_dns_failures_total: {
    type: 'counter',
    help: 'Delivery attempts that were deferred because DNS gave no definite answer.',
    labels: [],
    by: 'outbound',
  },
  mailstead_deliveries_total: {
    type: 'counter',
    help: 'Messages that a receiver accepted, by TLS version; none: plain text.',
    labels: ['tls'],
    by: 'outbound',
  },
  mailstead_suppressed_recipients_total: {
    type: 'counter',
    help: 'Recipients to which nothing was sent because their address is suppressed: when accepted, or when sent.',
    labels: ['at'],
    by: 'senders',
  },
  mailstead_complaints_total: {
    type: 'counter',
    help: 'Complaints of recipients, from feedback loops.',
    labels: [],
    by: 'inbound',
  },
  mailstead_webhook_attempts_total: {
    type: 'counter',
    help: 'Webhook requests that ended, by result (delivered, deferred, failed) and class of the HTTP status.',
    labels: ['result', 'status'],
    by: 'worker',
  },
  mailstead_webhook_attempt_duration_seconds: {
    type: 'histogram',
    help: 'Duration of webhook requests.',
    labels: [],
    buckets: HTTP,
    by: 'worker',
  },
  mailstead_webhook_lag_seconds: {
    type: 'histogram',
    help: 'Time from an event to the request that delivered it.',
    labels: [],
    buckets: DELIVERY,
    by: 'worker',
  },
} as const satisfies Record<string, MetricRow>
