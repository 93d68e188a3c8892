/**
 * Example bodies by the name of the endpoint, for bodies whose schema has none. A test sends each through the schema
 * of its endpoint.
 */
import { EXAMPLE_ID } from './example-values.ts'

const QUEUE_ACTION = { domain: 'example.org', state: 'deferred', reason: 'the receiver is back' }
const SEGMENT_FILTER = { all: [{ tag: 'customer' }, { activity: 'opened', withinDays: 30 }] }
const WEBHOOK_CHANGE = { events: ['email.delivered', 'email.bounced'], is_active: true }
const TOKEN = 'Jx0s1dVYl2oJ4mWcqTn5cL6h7Kz8Rb9Pq0XtYuAeIo4'
const PASSKEY = { id: 'q1w2e3r4', type: 'public-key', response: {} }

export const BODY_EXAMPLES: Readonly<Record<string, unknown>> = {
  'send-batch': {
    tier: 'normal',
    messages: [
      { from: 'shop@example.com', to: 'anna@example.org', subject: 'Your order 1', text: 'It is on its way.' },
      { from: 'shop@example.com', to: 'rob@example.org', subject: 'Your order 2', text: 'It is on its way.' },
    ],
  },
  'save-partial': { name: 'footer', body: '<p>Example Ltd, 1 Main Street</p>' },
  'preview-template': { subject: 'Hello {{firstName}}', body: '<p>Hello</p>', params: { firstName: 'Anna' } },
  'check-template': { subject: 'Hello {{firstName}}', body: '<p>Hello</p>', params: { firstName: 'Anna' } },
  'test-template': { to: 'anna@example.org', from: 'shop@example.com', params: { firstName: 'Anna' } },
  'save-template': { name: 'Welcome', subject: 'Hello {{firstName}}', body: '<p>Hello {{firstName}}</p>' },
  'change-tracking': { track_opens: true, privacy: 'truncated' },
  'update-audience': { name: 'Newsletter', double_opt_in: true },
  'update-contact': { first_name: 'Anna', tags: ['customer'] },
  'change-contacts': { ids: [EXAMPLE_ID], add_tags: ['customer'] },
  'update-automation': { name: 'Welcome series', status: 'paused' },
  'enroll-contact': { email: 'anna@example.org', properties: { plan: 'pro' } },
  'unenroll-contact': { email: 'anna@example.org' },
  'update-campaign': { subject: 'News in May', track_opens: true },
  'start-campaign': { force: false },
  'schedule-campaign': { scheduled_at: '2031-05-04_10:00:00', timezone: 'Europe/Berlin' },
  'resend-campaign': { subject: 'Did you see this?' },
  'update-account': { connections: 2, messages_per_minute: 60 },
  'import-suppressions': { emails: ['rob@example.org'] },
  'delete-suppressions': { emails: ['rob@example.org'] },
  'create-segment': { name: 'Customers', filter: SEGMENT_FILTER },
  'preview-segment': { filter: SEGMENT_FILTER },
  'update-segment': { name: 'Customers', filter: SEGMENT_FILTER },
  'update-webhook-by-query': WEBHOOK_CHANGE,
  'update-webhook': WEBHOOK_CHANGE,
  'test-webhook': { type: 'email.delivered' },
  subscribe: { email: 'anna@example.org', first_name: 'Anna' },
  unsubscribe: { 'List-Unsubscribe': 'One-Click' },
  'save-preferences': { all: '1' },
  'admin-retry-mail': QUEUE_ACTION,
  'admin-drop-mail': QUEUE_ACTION,
  'admin-bounce-mail': QUEUE_ACTION,
  'admin-suspend': { domain: 'example.org', reason: 'they asked us to stop' },
  'admin-resume': { domain: 'example.org' },
  'admin-acknowledge-notice': { id: EXAMPLE_ID },
  'rotate-dkim': { dkim_records: 'cname' },
  'set-bimi': { logo_url: 'https://www.example.com/logo.svg', certificate_url: 'https://www.example.com/vmc.pem' },
  'erase-person': { email: 'anna@example.org' },
  'export-person': { email: 'anna@example.org' },
  'admin-set-plan-retention': { bodies_days: 60, events_days: 90 },
  'admin-set-workspace-retention': { bodies_days: 7, messages_days: null },
  'admin-use-pool': { workspace: EXAMPLE_ID, pool: 'eu-central' },
  'oauth-connect': {},
  'oauth-confirm': { state: 'k5Jm2Xw9', grant: 'dGhlLWdyYW50' },
  'admin-block-link': { link: 'https://phish.example/login', reason: 'phishing' },
  'admin-unblock-link': { link: 'https://phish.example/login' },
  login: { email: 'anna@example.org', password: 'a long password' },
  'start-provider-login': { return_to: '/campaigns' },
  'start-provider-link': { return_to: '/account' },
  'finish-login': { login_token: TOKEN, code: '492039' },
  'start-second-factor-passkey': { login_token: TOKEN },
  'confirm-totp': { enrolment: 'AwRT0c2VjcmV0', code: '492039' },
  'add-passkey': { token: TOKEN, name: 'Laptop', response: PASSKEY },
  'passkey-login': { token: TOKEN, response: PASSKEY },
  'start-passkey-login': {},
  'change-password': { present_password: 'a long password', new_password: 'another long password' },
  'create-workspace': { name: 'Acme' },
  'create-admin-key': { name: 'Import of contacts', scopes: ['contacts:read', 'contacts:write'] },
  'change-member': { role: 'developer' },
  'create-invitation': { email: 'rob@example.org', role: 'marketer' },
  'accept-invitation': { name: 'Rob', password: 'a long password' },
  'reset-password': { password: 'a long password' },
  'admin-invite-user': { email: 'rob@example.org', workspace: EXAMPLE_ID, role: 'owner' },
  'admin-dry-run': { from: 'shop@example.com', to: 'anna@example.org' },
}
