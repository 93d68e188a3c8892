/**
 * All loops of the worker, one row each. Every worker runs all of them, and any number of workers may run: what a round
 * does is guarded by claims or may be done twice.
 */
import { createForwardConfirmationRound } from './forward-confirmations.ts'
import type { Config } from '#config/load.ts'
import { mergeCounterDeltas } from '#src/campaigns/statistics.ts'
import { applyCounterDeltas } from '#src/contacts/apply-counter-deltas.ts'
import { purgeDeletedAudiences } from '#src/contacts/purge-contacts.ts'
import { runImports } from '#src/imports/import-runner.ts'
import { purgeImports } from '#src/imports/purge-imports.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { sendDeliveryReports } from '#src/messages/delivery-reports.ts'
import { removeDeleted } from '#src/webhooks/endpoints.ts'
import { createAccountRound, createGrantRevocationRound } from './accounts.ts'
import { createAutomationMaintenanceRound } from './automations.ts'
import { createCampaignRound, createCampaignStartRound } from './campaigns.ts'
import { createCertificateRound } from './certificates.ts'
import { createDeadLeaseRound } from './dead-leases.ts'
import { createDkimZoneRound, createKeyScheduleRound } from './dkim-zone.ts'
import { createSourceNameRound } from './dmarc.ts'
import { createDomainCheckRound, createDomainRemovalRound, createRegistrationRound } from './domains.ts'
import { createSourceCheckRound } from './egress.ts'
import { createErasureRound } from './erasures.ts'
import { createHousekeepingRound } from './housekeeping.ts'
import { createLiveCheckRound } from './live-checks.ts'
import type { LoopRow } from './loop.ts'
import { createNoticeRound } from './notices.ts'
import { createOperatorRound } from './operator.ts'
import { createPendingSuppressionRound } from './pending-suppressions.ts'
import { createQueueMetricsRound } from './queue-metrics.ts'
import { createReconcileRound } from './reconcile.ts'
import { createRestoreFenceRound } from './restore-fence.ts'
import { createResumeRound } from './resume-suspended.ts'
import { createPartitionDropRound, createPartitionRewriteRound, createRetentionRound } from './retention.ts'
import { createScoreRound } from './scores.ts'
import { createRollUpRound, createStatisticsRound } from './statistics.ts'
import { createTlsReportRound } from './tls-reports.ts'
import { createTrackingRound } from './tracking.ts'
import { createUnknownOutcomeRound } from './unknown-outcomes.ts'
import { createWorkspaceRateRound } from './workspace-rates.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

/**
 * An interval that RETRY_SCALE shortens for tests, but not below `leastMs`: an idle worker of a test costs CPU that the
 * tests beside it need.
 */
function scaled(everyMs: number, leastMs: number): (config: Config) => number {
  return ({ retryScale }) => Math.min(everyMs, Math.max(leastMs, everyMs * retryScale))
}

export const LOOPS: readonly LoopRow[] = [
  // queue
  {
    name: 'reconcile',
    everyMs: ({ reconcileSeconds }) => Math.min(1, reconcileSeconds) * SECOND,
    createRound: createReconcileRound,
  },
  { name: 'dead leases', everyMs: 1 * SECOND, createRound: createDeadLeaseRound },
  { name: 'restore fence', isTimeless: true, everyMs: 1 * SECOND, createRound: createRestoreFenceRound },
  { name: 'unknown outcomes', everyMs: scaled(5 * SECOND, 1 * SECOND), createRound: createUnknownOutcomeRound },
  { name: 'resume suspended', isBulk: true, everyMs: 0.5 * SECOND, idleMs: 1 * SECOND, createRound: createResumeRound },
  { name: 'operator actions', isBulk: true, everyMs: 1 * SECOND, createRound: createOperatorRound },
  { name: 'workspace rates', everyMs: scaled(30 * SECOND, 1 * SECOND), createRound: createWorkspaceRateRound },
  { name: 'queue metrics', isTimeless: true, everyMs: 1 * SECOND, createRound: createQueueMetricsRound },
  {
    name: 'delivery reports',
    everyMs: 2 * SECOND,
    createRound: (ctx) => {
      const acceptor = createAcceptor(ctx)
      return () => sendDeliveryReports({ ...ctx, acceptor }, new Date(ctx.clock.now()))
    },
  },
  { name: 'forward confirmations', everyMs: 2 * SECOND, createRound: createForwardConfirmationRound },

  // senders
  { name: 'connected accounts', everyMs: scaled(30 * SECOND, 1 * SECOND), createRound: createAccountRound },
  { name: 'grant revocations', everyMs: scaled(5 * SECOND, 1 * SECOND), createRound: createGrantRevocationRound },
  { name: 'domain checks', everyMs: scaled(5 * SECOND, 500), createRound: createDomainCheckRound },
  { name: 'DKIM zone', everyMs: scaled(5 * SECOND, 1 * SECOND), createRound: createDkimZoneRound },
  { name: 'DKIM key schedule', everyMs: scaled(1 * MINUTE, 1 * SECOND), createRound: createKeyScheduleRound },
  { name: 'domain registrations', everyMs: 15 * SECOND, createRound: createRegistrationRound },
  { name: 'domain removals', isBulk: true, everyMs: 2 * SECOND, createRound: createDomainRemovalRound },
  { name: 'source checks', everyMs: 30 * SECOND, createRound: createSourceCheckRound },
  {
    name: 'live checks',
    isTimeless: true,
    everyMs: scaled(60 * SECOND, 1 * SECOND),
    createRound: createLiveCheckRound,
  },
  { name: 'certificates', isTimeless: true, everyMs: 2 * SECOND, createRound: createCertificateRound },
  { name: 'notices', isTimeless: true, everyMs: scaled(10 * SECOND, 3 * SECOND), createRound: createNoticeRound },

  // contacts, campaigns and automations
  // Readers add the deltas that are not applied yet. Scoring after a large import writes 20,000 a second, so a longer
  // interval makes pages slow.
  {
    name: 'audience counters',
    isBulk: true,
    everyMs: 0.25 * SECOND,
    idleMs: 2 * SECOND,
    createRound: (ctx) => () => applyCounterDeltas(ctx),
  },
  {
    name: 'deleted audiences',
    isBulk: true,
    everyMs: 5 * SECOND,
    createRound: (ctx) => () => purgeDeletedAudiences(ctx.db),
  },
  {
    name: 'imports',
    isBulk: true,
    everyMs: 1 * SECOND,
    createRound: (ctx) => () => runImports(ctx),
  },
  { name: 'import cleanup', everyMs: 1 * SECOND, createRound: (ctx) => () => purgeImports(ctx.db) },
  { name: 'scores', isBulk: true, everyMs: 5 * SECOND, createRound: createScoreRound },
  { name: 'campaigns', everyMs: 0.1 * SECOND, idleMs: 1 * SECOND, createRound: createCampaignRound },
  {
    name: 'campaign start',
    isBulk: true,
    everyMs: 0.1 * SECOND,
    idleMs: 1 * SECOND,
    createRound: createCampaignStartRound,
  },
  {
    name: 'campaign statistics',
    isBulk: true,
    everyMs: 0.25 * SECOND,
    idleMs: 5 * SECOND,
    createRound: (ctx) => () => mergeCounterDeltas(ctx.db),
  },
  { name: 'automation maintenance', isBulk: true, everyMs: 5 * SECOND, createRound: createAutomationMaintenanceRound },

  // results
  { name: 'tracking', everyMs: 0.25 * SECOND, idleMs: 1 * SECOND, createRound: createTrackingRound },
  // up to three times as long under load: more events share a row, so counting each costs less
  { name: 'statistics', isBulk: true, everyMs: scaled(5 * SECOND, 500), createRound: createStatisticsRound },
  {
    name: 'statistics roll-up',
    isBulk: true,
    everyMs: scaled(5 * MINUTE, 2 * SECOND),
    createRound: createRollUpRound,
  },
  { name: 'pending suppressions', everyMs: 5 * MINUTE, createRound: createPendingSuppressionRound },
  { name: 'webhook removal', isBulk: true, everyMs: 1 * MINUTE, createRound: (ctx) => () => removeDeleted(ctx.db) },
  { name: 'TLS reports', everyMs: scaled(5 * MINUTE, 1 * SECOND), createRound: createTlsReportRound },
  { name: 'DMARC source names', everyMs: scaled(30 * SECOND, 1 * SECOND), createRound: createSourceNameRound },
  { name: 'housekeeping', isBulk: true, everyMs: 10 * MINUTE, createRound: createHousekeepingRound },
  { name: 'erasures', isBulk: true, everyMs: 2 * SECOND, createRound: createErasureRound },
  { name: 'partition drops', everyMs: 10 * MINUTE, createRound: createPartitionDropRound },
  { name: 'partition rewrites', everyMs: 10 * MINUTE, createRound: createPartitionRewriteRound },
  { name: 'retention', everyMs: 10 * MINUTE, createRound: createRetentionRound },
]
