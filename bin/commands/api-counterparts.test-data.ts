/**
 * For each command: the endpoints of the API that do the same, or why there is none. A dashboard uses the endpoints. A
 * test compares the table with the commands and the routes, and writes docs/reference/commands-and-api.md.
 */

/** `command action: endpoints`, or `command action: - reason`. A row without an action is a command without actions. */
const ROWS = `
start: - runs the service
demo: - is a demonstration for a terminal
api: - runs a process
mta: - runs a process
worker: - runs a process
env: - prints variables of the shell; it reads the file of the first keys on this machine
setup: - writes the settings of this machine
migrate: - runs while the API may be stopped
upgrade: - runs while the API may be stopped
workspace create: admin-create-workspace
workspace suspend: admin-suspend
workspace pause: admin-suspend
workspace resume: admin-resume
workspace delete: - cannot be undone and takes minutes; the command wants a confirmation and shows its progress
workspace list: admin-list-workspaces admin-get-workspace admin-change-workspace admin-list-plans
user create: - prints a link for the terminal; by the API people are invited: admin-invite-user
user invite: admin-invite-user create-invitation admin-list-invitations admin-revoke-invitation
user list: admin-list-users list-members
user reset: admin-reset-password
user reset-factors: admin-reset-second-factors
user disable: admin-disable-user
user enable: admin-enable-user admin-change-user
user delete: admin-delete-user
key create: admin-create-key create-domain-key
key list: admin-list-keys list-api-keys get-api-key
key deactivate: admin-deactivate-key revoke-api-key
key networks: change-api-key
key prefix: - changes a setting of all machines
dmarc show: get-dmarc-summary
dmarc reports: list-dmarc-reports
dmarc overview: admin-get-dmarc
domain add: add-domain
domain verify: verify-domain admin-trust-domain
domain rotate: rotate-dkim
domain bimi: set-bimi
domain zone: - runs a command of the operator on this machine
domain remove: delete-domain
domain list: get-domains domain-status
certificate list: - lists what the settings of the machines need; notices report what is wrong
certificate request: - reads the settings of the machine that asks for it
certificate renew: - reads the settings of the machine that asks for it
certificate remove: - reads the settings of the machine that asks for it
node list: admin-list-nodes
node drain: admin-drain-node
node undrain: admin-undrain-node
node forget: admin-forget-node
retention list: admin-list-retention
retention set: admin-set-plan-retention admin-set-workspace-retention
retention unset: admin-unset-plan-retention admin-unset-workspace-retention
egress source add: admin-add-source
egress source list: admin-list-sources
egress source pause: admin-pause-source
egress source resume: admin-resume-source
egress source warm-up: admin-begin-warm-up-source admin-end-warm-up-source
egress source remove: admin-remove-source
egress pool add: admin-add-pool
egress pool list: admin-list-pools
egress pool join: admin-join-pool
egress pool leave: admin-leave-pool
egress pool use: admin-use-pool
egress pool remove: admin-remove-pool
account create: create-account
account connect: start-oauth
account test: test-account
account resume: resume-account
account remove: delete-account
account list: list-accounts
audience list: get-audiences
audience show: get-audience
audience create: add-audience
audience remove: delete-audience
contact list: get-contacts
contact show: get-contact
contact history: get-contact-history
contact add: add-contact
contact update: update-contact
contact remove: delete-contact
contact import: import-contacts
contact imports: list-imports get-import get-import-errors
contact cancel: cancel-import
contact export: export-contacts
person erase: erase-person
person status: get-erasure
person export: export-person
template list: list-templates
template show: get-template
template save: save-template
template check: check-template
template preview: preview-template
template versions: list-template-versions get-template-version
template diff: compare-template-versions
template remove: delete-template
campaign list: get-campaigns
campaign show: get-campaign
campaign create: create-campaign
campaign update: update-campaign
campaign preview: preview-campaign
campaign start: start-campaign
campaign schedule: schedule-campaign
campaign recall: recall-campaign
campaign pause: pause-campaign
campaign resume: resume-campaign
campaign cancel: cancel-campaign
campaign retry: retry-campaign
campaign remove: delete-campaign
statistics show: get-statistics
statistics links: get-link-statistics
desk: admin-get-deliverability get-deliverability
branding show: get-branding
branding set: change-branding
branding logo: set-logo
branding reset: change-branding delete-logo
inbound routes: list-inbound-routes
inbound route: get-inbound-route
inbound create: create-inbound-route
inbound update: update-inbound-route
inbound remove: delete-inbound-route
inbound resend: resend-forward-confirmation
inbound list: list-received-emails
inbound show: get-received-email
inbound replay: replay-received-email
inbound delete: delete-received-email
webhook list: list-webhooks
webhook show: get-webhook
webhook create: create-webhook
webhook update: update-webhook
webhook rotate: rotate-webhook-secret
webhook test: test-webhook
webhook deliveries: list-webhook-deliveries
webhook replay: replay-webhook-delivery
webhook remove: delete-webhook
suppression list: list-suppressions
suppression show: get-suppression
suppression add: add-suppressions
suppression remove: delete-suppression
suppression import: import-suppressions
suppression export: export-suppressions
queue status: admin-count-queue admin-list-suspensions
queue count: admin-count-queue
queue list: admin-list-queue
queue retry: admin-retry-mail retry-email
queue drop: admin-drop-mail admin-bounce-mail cancel-email
queue suspend: admin-suspend
queue resume: admin-resume
queue actions: admin-list-actions admin-get-action
shaping check: admin-check-shaping
shaping replay: admin-replay-shaping
shaping status: admin-get-shaping
shaping resume: admin-resume
tls list: admin-list-tls-rules
tls set: admin-set-tls-rule
tls unset: admin-unset-tls-rule
tls-reports: admin-list-tls-reports
explain: explain-email admin-explain-email get-email-attempts
bounces list: admin-list-reports
bounces show: admin-get-report-raw
bounces held: admin-list-held-suppressions
bounces review: admin-review-suppressions admin-list-suppression-reviews admin-get-suppression-review
link block: admin-block-link
link unblock: admin-unblock-link
link list: admin-list-blocked-links
notices list: admin-list-notices
notices ack: admin-acknowledge-notice
dry-run: admin-dry-run admin-get-dry-run
parse-report: - reads a file; it stores nothing
inbox: get-captured-emails get-captured-email get-captured-email-raw
compile: - prepares the files of this machine
backup: - reads the keys and settings of this machine
restore: - runs while the API is stopped
lost-mail: - reads the logs of this machine after a restore
rotate-master-key status: - reads the key files of this machine
rotate-master-key add: - writes the key files of this machine
rotate-master-key activate: - writes the key files of this machine
rotate-master-key run: - reads the key files of this machine
rotate-master-key remove: - writes the key files of this machine
settings: - prints the documentation of the settings
doctor: admin-list-checks
check: - is a tool for developers
test: - is a tool for developers
bench: - is a tool for developers
`

export interface CommandCounterpart {
  /** The command with its action, such as `queue retry`. */
  readonly command: string
  /** Names of endpoints; empty if there is none. */
  readonly routes: readonly string[]
  /** Why there is none. */
  readonly reason: string | null
}

export const API_COUNTERPARTS: readonly CommandCounterpart[] = ROWS.trim()
  .split('\n')
  .map((row) => {
    const [command = '', rest = ''] = row.split(/: (.*)/)
    return rest.startsWith('- ')
      ? { command, routes: [], reason: rest.slice(2) }
      : { command, routes: rest.split(' '), reason: null }
  })
