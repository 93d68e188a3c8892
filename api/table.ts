/** Every endpoint of the API, one line per file of `routes/`. */
import type { AnyRoute } from '#api/http/route.ts'
import { ACCOUNT_ROUTES } from '#api/routes/accounts.ts'
import { ADMIN_BOUNCE_ROUTES } from '#api/routes/admin-bounces.ts'
import { ADMIN_BLOCKED_LINK_ROUTES } from '#api/routes/admin-blocked-links.ts'
import { ADMIN_CHECK_ROUTES } from '#api/routes/admin-checks.ts'
import { ADMIN_DRY_RUN_ROUTES } from '#api/routes/admin-dry-run.ts'
import { ADMIN_KEY_ROUTES } from '#api/routes/admin-keys.ts'
import { ADMIN_NODE_ROUTES } from '#api/routes/admin-nodes.ts'
import { ADMIN_NOTICE_ROUTES } from '#api/routes/admin-notices.ts'
import { ADMIN_POOL_ROUTES } from '#api/routes/admin-pools.ts'
import { ADMIN_RETENTION_ROUTES } from '#api/routes/admin-retention.ts'
import { ADMIN_QUEUE_ROUTES } from '#api/routes/admin-queue.ts'
import { ADMIN_USER_ROUTES } from '#api/routes/admin-users.ts'
import { ADMIN_SHAPING_ROUTES } from '#api/routes/admin-shaping.ts'
import { ADMIN_SOURCE_ROUTES } from '#api/routes/admin-sources.ts'
import { ADMIN_SUPPRESSION_REVIEW_ROUTES } from '#api/routes/admin-suppression-reviews.ts'
import { ADMIN_SUSPENSION_ROUTES } from '#api/routes/admin-suspensions.ts'
import { ADMIN_TLS_RULE_ROUTES } from '#api/routes/admin-tls-rules.ts'
import { ADMIN_WORKSPACE_ROUTES } from '#api/routes/admin-workspaces.ts'
import { API_KEY_ROUTES } from '#api/routes/api-keys.ts'
import { ATTENTION_ROUTES } from '#api/routes/attention.ts'
import { AUDIT_ROUTES } from '#api/routes/audit-log.ts'
import { AUDIENCE_ROUTES } from '#api/routes/audiences.ts'
import { AUTOMATION_RUN_ROUTES } from '#api/routes/automation-runs.ts'
import { AUTOMATION_WEBHOOK_SECRET_ROUTES } from '#api/routes/automation-webhook-secret.ts'
import { SUBSCRIBER_ROUTES } from '#api/routes/automation-subscribers.ts'
import { AUTOMATION_ROUTES } from '#api/routes/automations.ts'
import { CHANGE_STREAM_ROUTES } from '#api/routes/change-stream.ts'
import { sendBatch } from '#api/routes/send-batch.ts'
import { changeScheduledEmail } from '#api/routes/change-scheduled-email.ts'
import { campaignPreview } from '#api/routes/campaign-preview.ts'
import { CAMPAIGN_RECIPIENT_ROUTES } from '#api/routes/campaign-recipients.ts'
import { CAMPAIGN_SENDING_ROUTES } from '#api/routes/campaign-sending.ts'
import { CAMPAIGN_ROUTES } from '#api/routes/campaigns.ts'
import { BRANDING_PREVIEW_ROUTES } from '#api/routes/branding-preview.ts'
import { BRANDING_ROUTES } from '#api/routes/branding.ts'
import { CAPTURED_ROUTES } from '#api/routes/captured-emails.ts'
import { CONTACT_HISTORY_ROUTES } from '#api/routes/contact-history.ts'
import { CONTACT_BULK_ROUTES } from '#api/routes/contact-bulk.ts'
import { CONTACT_SEARCH_ROUTES } from '#api/routes/contact-search.ts'
import { CONTACT_ROUTES } from '#api/routes/contacts.ts'
import { DASHBOARD_ROUTES } from '#api/routes/dashboard.ts'
import { docsRoutes } from '#api/routes/docs.ts'
import { errorDocs } from '#api/routes/error-docs.ts'
import { guide } from '#api/routes/guides.ts'
import { EMAIL_CONFIRMATION_ROUTES } from '#api/routes/email-confirmation.ts'
import { FORWARD_CONFIRMATION_ROUTES } from '#api/routes/forward-confirmation.ts'
import { OPEN_MAIL_ROUTES } from '#api/routes/open-mail.ts'
import { OWN_ACCOUNT_ROUTES } from '#api/routes/own-account.ts'
import { ADMIN_DELIVERABILITY_ROUTES, DELIVERABILITY_ROUTES } from '#api/routes/deliverability.ts'
import { DOMAIN_ROUTES } from '#api/routes/domains.ts'
import { EMAIL_ACTION_ROUTES } from '#api/routes/email-actions.ts'
import { EMAIL_CONTENT_ROUTES } from '#api/routes/email-content.ts'
import { EMAIL_ROUTES } from '#api/routes/emails.ts'
import { ENROLMENT_ROUTES } from '#api/routes/enrolments.ts'
import { listEvents } from '#api/routes/events.ts'
import { EXPORT_ROUTES } from '#api/routes/contact-export.ts'
import { healthz, metrics, readyz } from '#api/routes/health.ts'
import { IMPORT_ROUTES } from '#api/routes/contact-imports.ts'
import { IDENTITY_PROVIDER_ROUTES } from '#api/routes/identity-providers.ts'
import { INBOUND_EMAIL_ROUTES } from '#api/routes/inbound-emails.ts'
import { INBOUND_ROUTE_ROUTES } from '#api/routes/inbound-routes.ts'
import { INVITATION_ROUTES } from '#api/routes/invitations.ts'
import { OPERATOR_INVITATION_ROUTES } from '#api/routes/operator-invitations.ts'
import { LOGIN_METHOD_ROUTES } from '#api/routes/login-methods.ts'
import { LOGIN_ROUTES } from '#api/routes/login.ts'
import { MEMBER_ROUTES } from '#api/routes/members.ts'
import { ONE_TIME_ROUTES } from '#api/routes/one-time-pages.ts'
import { OWN_WORKSPACE_ROUTES } from '#api/routes/own-workspaces.ts'
import { verifyKey } from '#api/routes/integrations.ts'
import { OAUTH_ROUTES } from '#api/routes/oauth.ts'
import { openapiRoute } from '#api/routes/openapi.ts'
import { cancelScheduledEmail, listScheduledEmails, scheduleEmail } from '#api/routes/scheduled-emails.ts'
import { PASSKEY_ROUTES } from '#api/routes/passkeys.ts'
import { PRIVACY_ROUTES } from '#api/routes/privacy.ts'
import { SECOND_FACTOR_ROUTES } from '#api/routes/second-factors.ts'
import { SEGMENT_ROUTES } from '#api/routes/segments.ts'
import { SEND_ROUTES } from '#api/routes/send.ts'
import { sendRaw } from '#api/routes/send-raw.ts'
import { ADMIN_STATISTICS_ROUTES, STATISTICS_ROUTES } from '#api/routes/statistics.ts'
import { SUBSCRIBE_ROUTES } from '#api/routes/subscribe-form.ts'
import { SUPPRESSION_FILE_ROUTES } from '#api/routes/suppression-files.ts'
import { SUPPRESSION_ROUTES } from '#api/routes/suppressions.ts'
import { TEMPLATE_DIFFERENCE_ROUTES } from '#api/routes/template-differences.ts'
import { TEMPLATE_PARTIAL_ROUTES } from '#api/routes/template-partials.ts'
import { TEMPLATE_PREVIEW_ROUTES } from '#api/routes/template-previews.ts'
import { TEMPLATE_ROUTES } from '#api/routes/templates.ts'
import { DMARC_ROUTES } from '#api/routes/dmarc-reports.ts'
import { TLS_REPORT_ROUTES } from '#api/routes/tls-reports.ts'
import { WEBHOOK_LOG_ROUTES } from '#api/routes/webhook-log.ts'
import { WEBHOOK_ROUTES } from '#api/routes/webhooks.ts'
import { TRACKING_ROUTES } from '#api/routes/tracking.ts'
import { TRACKING_SETTINGS_ROUTES } from '#api/routes/tracking-settings.ts'
import { UNSUBSCRIBE_ROUTES } from '#api/routes/unsubscribe.ts'
import { changeOwnWorkspace, getWorkspace } from '#api/routes/workspace.ts'

export const ROUTES: readonly AnyRoute[] = [
  ...SEND_ROUTES,
  sendBatch,
  sendRaw,
  scheduleEmail,
  listScheduledEmails,
  cancelScheduledEmail,
  changeScheduledEmail,
  ...CAPTURED_ROUTES,
  ...EMAIL_ROUTES,
  ...EMAIL_CONTENT_ROUTES,
  ...EMAIL_ACTION_ROUTES,
  ...OPEN_MAIL_ROUTES,
  listEvents,
  ...CHANGE_STREAM_ROUTES,
  ...STATISTICS_ROUTES,
  ...DELIVERABILITY_ROUTES,
  ...TEMPLATE_PARTIAL_ROUTES,
  ...TEMPLATE_PREVIEW_ROUTES,
  ...TEMPLATE_ROUTES,
  ...TEMPLATE_DIFFERENCE_ROUTES,
  verifyKey,
  getWorkspace,
  changeOwnWorkspace,
  ...ATTENTION_ROUTES,
  ...TRACKING_SETTINGS_ROUTES,
  ...BRANDING_ROUTES,
  ...BRANDING_PREVIEW_ROUTES,
  ...AUDIENCE_ROUTES,
  ...CONTACT_ROUTES,
  ...CONTACT_HISTORY_ROUTES,
  ...CONTACT_SEARCH_ROUTES,
  ...CONTACT_BULK_ROUTES,
  ...AUTOMATION_ROUTES,
  ...AUTOMATION_RUN_ROUTES,
  ...AUTOMATION_WEBHOOK_SECRET_ROUTES,
  ...ENROLMENT_ROUTES,
  ...SUBSCRIBER_ROUTES,
  ...CAMPAIGN_ROUTES,
  ...CAMPAIGN_SENDING_ROUTES,
  ...CAMPAIGN_RECIPIENT_ROUTES,
  campaignPreview,
  ...DOMAIN_ROUTES,
  ...DMARC_ROUTES,
  ...API_KEY_ROUTES,
  ...ACCOUNT_ROUTES,
  ...OAUTH_ROUTES,
  // before the routes that have an email address in the path
  ...SUPPRESSION_FILE_ROUTES,
  ...PRIVACY_ROUTES,
  ...SUPPRESSION_ROUTES,
  ...IMPORT_ROUTES,
  ...EXPORT_ROUTES,
  ...SEGMENT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...WEBHOOK_LOG_ROUTES,
  ...INBOUND_ROUTE_ROUTES,
  ...INBOUND_EMAIL_ROUTES,
  ...LOGIN_ROUTES,
  ...OWN_ACCOUNT_ROUTES,
  ...EMAIL_CONFIRMATION_ROUTES,
  ...FORWARD_CONFIRMATION_ROUTES,
  ...IDENTITY_PROVIDER_ROUTES,
  ...LOGIN_METHOD_ROUTES,
  ...SECOND_FACTOR_ROUTES,
  ...PASSKEY_ROUTES,
  ...OWN_WORKSPACE_ROUTES,
  ...MEMBER_ROUTES,
  ...INVITATION_ROUTES,
  ...ONE_TIME_ROUTES,
  ...SUBSCRIBE_ROUTES,
  ...TRACKING_ROUTES,
  ...UNSUBSCRIBE_ROUTES,
  ...ADMIN_QUEUE_ROUTES,
  ...ADMIN_SUSPENSION_ROUTES,
  ...ADMIN_BLOCKED_LINK_ROUTES,
  ...ADMIN_NODE_ROUTES,
  ...ADMIN_CHECK_ROUTES,
  ...ADMIN_NOTICE_ROUTES,
  ...ADMIN_POOL_ROUTES,
  ...ADMIN_RETENTION_ROUTES,
  ...ADMIN_DRY_RUN_ROUTES,
  ...ADMIN_USER_ROUTES,
  ...OPERATOR_INVITATION_ROUTES,
  ...ADMIN_WORKSPACE_ROUTES,
  ...ADMIN_KEY_ROUTES,
  ...ADMIN_SOURCE_ROUTES,
  ...ADMIN_SHAPING_ROUTES,
  ...ADMIN_BOUNCE_ROUTES,
  ...ADMIN_SUPPRESSION_REVIEW_ROUTES,
  ...ADMIN_TLS_RULE_ROUTES,
  ...ADMIN_STATISTICS_ROUTES,
  ...ADMIN_DELIVERABILITY_ROUTES,
  ...TLS_REPORT_ROUTES,
  ...AUDIT_ROUTES,
  healthz,
  readyz,
  metrics,
  openapiRoute(() => ROUTES),
  errorDocs,
  guide,
  ...docsRoutes(() => ROUTES),
  ...DASHBOARD_ROUTES,
]
