/** Every endpoint of the API, one line each. What an endpoint is stands in its file in `routes/`. */
import type { AnyRoute } from './route.ts'
import { ACCOUNT_ROUTES } from './routes/accounts.ts'
import { ADMIN_DRY_RUN_ROUTES } from './routes/admin-dry-run.ts'
import { ADMIN_NOTICE_ROUTES } from './routes/admin-notices.ts'
import { ADMIN_POOL_ROUTES } from './routes/admin-pools.ts'
import { ADMIN_QUEUE_ROUTES } from './routes/admin-queue.ts'
import { ADMIN_SUSPENSION_ROUTES } from './routes/admin-suspensions.ts'
import { AUDIENCE_ROUTES } from './routes/audiences.ts'
import { AUTOMATION_RUN_ROUTES } from './routes/automation-runs.ts'
import { AUTOMATION_ROUTES } from './routes/automations.ts'
import { sendBatch } from './routes/batch.ts'
import { campaignPreview } from './routes/campaign-preview.ts'
import { CAMPAIGN_RECIPIENT_ROUTES } from './routes/campaign-recipients.ts'
import { CAMPAIGN_SENDING_ROUTES } from './routes/campaign-sending.ts'
import { CAMPAIGN_ROUTES } from './routes/campaigns.ts'
import { CAPTURED_ROUTES } from './routes/captured.ts'
import { CONTACT_ROUTES } from './routes/contacts.ts'
import { DOCS_ROUTES } from './routes/docs.ts'
import { DOMAIN_ROUTES } from './routes/domains.ts'
import { EMAIL_ROUTES } from './routes/emails.ts'
import { ENROLMENT_ROUTES } from './routes/enrolments.ts'
import { listEvents } from './routes/events.ts'
import { EXPORT_ROUTES } from './routes/exports.ts'
import { healthz, metrics, readyz } from './routes/health.ts'
import { IMPORT_ROUTES } from './routes/imports.ts'
import { verifyKey } from './routes/integrations.ts'
import { OAUTH_ROUTES } from './routes/oauth.ts'
import { openapiRoute } from './routes/openapi.ts'
import { cancelScheduledEmail, listScheduledEmails, scheduleEmail } from './routes/schedule.ts'
import { SEGMENT_ROUTES } from './routes/segments.ts'
import { SEND_ROUTES } from './routes/send.ts'
import { SUBSCRIBE_ROUTES } from './routes/subscribe.ts'
import { SUPPRESSION_FILE_ROUTES } from './routes/suppression-files.ts'
import { SUPPRESSION_ROUTES } from './routes/suppressions.ts'
import { TEMPLATE_PARTIAL_ROUTES } from './routes/template-partials.ts'
import { TEMPLATE_PREVIEW_ROUTES } from './routes/template-previews.ts'
import { TEMPLATE_ROUTES } from './routes/templates.ts'
import { TLS_REPORT_ROUTES } from './routes/tls-reports.ts'
import { WEBHOOK_LOG_ROUTES } from './routes/webhook-log.ts'
import { WEBHOOK_ROUTES } from './routes/webhooks.ts'
import { TRACKING_ROUTES } from './routes/tracking.ts'
import { TRACKING_SETTINGS_ROUTES } from './routes/tracking-settings.ts'
import { UNSUBSCRIBE_ROUTES } from './routes/unsubscribe.ts'
import { getWorkspace } from './routes/workspace.ts'

export const ROUTES: readonly AnyRoute[] = [
  ...SEND_ROUTES,
  sendBatch,
  scheduleEmail,
  listScheduledEmails,
  cancelScheduledEmail,
  ...CAPTURED_ROUTES,
  ...EMAIL_ROUTES,
  listEvents,
  ...TEMPLATE_PARTIAL_ROUTES,
  ...TEMPLATE_PREVIEW_ROUTES,
  ...TEMPLATE_ROUTES,
  verifyKey,
  getWorkspace,
  ...TRACKING_SETTINGS_ROUTES,
  ...AUDIENCE_ROUTES,
  ...CONTACT_ROUTES,
  ...AUTOMATION_ROUTES,
  ...AUTOMATION_RUN_ROUTES,
  ...ENROLMENT_ROUTES,
  ...CAMPAIGN_ROUTES,
  ...CAMPAIGN_SENDING_ROUTES,
  ...CAMPAIGN_RECIPIENT_ROUTES,
  campaignPreview,
  ...DOMAIN_ROUTES,
  ...ACCOUNT_ROUTES,
  ...OAUTH_ROUTES,
  // before the routes with an address in the path
  ...SUPPRESSION_FILE_ROUTES,
  ...SUPPRESSION_ROUTES,
  ...IMPORT_ROUTES,
  ...EXPORT_ROUTES,
  ...SEGMENT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...WEBHOOK_LOG_ROUTES,
  ...SUBSCRIBE_ROUTES,
  ...TRACKING_ROUTES,
  ...UNSUBSCRIBE_ROUTES,
  ...ADMIN_QUEUE_ROUTES,
  ...ADMIN_SUSPENSION_ROUTES,
  ...ADMIN_NOTICE_ROUTES,
  ...ADMIN_POOL_ROUTES,
  ...ADMIN_DRY_RUN_ROUTES,
  ...TLS_REPORT_ROUTES,
  healthz,
  readyz,
  metrics,
  openapiRoute(() => ROUTES),
  ...DOCS_ROUTES,
]
