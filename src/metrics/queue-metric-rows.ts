/** What one worker reports about the whole installation. */
import type { MetricRow } from './metric-row.ts'

export const QUEUE_METRICS = {
  mailstead_queue_depth: {
    type: 'gauge',
    help:
      'Queued recipients: due later (scheduled), ready, or of a suspended domain, site, workspace or campaign ' +
      '(suspended). Those of workspaces and campaigns are counted when they are due, by 5,000 of a tier each ' +
      '`RECONCILE_SECONDS`.',
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
  mailstead_doctor_findings: {
    type: 'gauge',
    help: 'What a live installation lacks, by severity: failed or warning; `mailstead doctor` names it.',
    labels: ['severity'],
    by: 'queue',
  },
  mailstead_source_warm_up_room: {
    type: 'gauge',
    help: 'How many more messages a source in warm-up may send today, to the receivers that it sent to today.',
    labels: ['source'],
    isOptional: true,
    by: 'queue',
  },
  mailstead_source_blocklisted: {
    type: 'gauge',
    help: '1 while a blocklist lists the address of the source, else 0; checked every 6 hours.',
    labels: ['source'],
    isOptional: true,
    by: 'queue',
  },
  mailstead_source_checks: {
    type: 'gauge',
    help: 'Results of the last checks of sources, by check and status.',
    labels: ['check', 'status'],
    isOptional: true,
    by: 'queue',
  },
  mailstead_certificate_expiry_timestamp_seconds: {
    type: 'gauge',
    help: 'When a certificate expires, in seconds since 1970: of SMTP (TLS_CERT_FILE), and of each public https URL.',
    labels: ['host'],
    isOptional: true,
    by: 'queue',
  },
  mailstead_certificates: {
    type: 'gauge',
    help: 'Certificates that are requested automatically, by state: valid, waiting, failing, expired, unused.',
    labels: ['state'],
    by: 'queue',
  },
  mailstead_domains: { type: 'gauge', help: 'Sending domains, by status.', labels: ['status'], by: 'queue' },
  mailstead_accounts: { type: 'gauge', help: 'Connected accounts, by status.', labels: ['status'], by: 'queue' },
  mailstead_node_silent_seconds: {
    type: 'gauge',
    help: 'Time since the last report of any process of a node. A node whose processes were stopped has no series.',
    labels: ['node'],
    isOptional: true,
    by: 'queue',
  },
  mailstead_retention_overdue_seconds: {
    type: 'gauge',
    help: 'How long ago the oldest stored bodies, events or messages should have been deleted; 0 if none is overdue.',
    labels: ['data'],
    by: 'queue',
  },
} as const satisfies Record<string, MetricRow>
