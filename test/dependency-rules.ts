/**
 * Which folder may import which: one row per folder with code. A row names only folders of rows above it, so the rows
 * are a partial order: no two folders depend on each other, not even through others.
 * `test/dependency-rules.test.ts` checks every import against the rows, and `oxlint.config.ts` builds the linter's
 * restrictions from them, so that an editor reports a forbidden import. A permission that no import uses is an error.
 * When a row has to change, the failing test prints the new row.
 */
export type Rules = ReadonlyMap<string, readonly string[]>

/** In a row: every folder. Only for folders that nothing imports. */
export const ANY = '*'

/** `folder: folders that it may import`. An indented line continues the row above it; `#` begins a comment. */
export const FOLDERS = parseRules(`
# settings
config/settings:
config: config/settings

# library and migrations
src/crypto: config
src/platform: config
src/concurrency: src/platform
src/net: config config/settings src/concurrency src/platform
src/mail: src/platform
src/mime: src/mail
src/stores: src/platform
migrations: src/stores
src/traces: config src/concurrency src/platform
src: config src/concurrency src/crypto src/platform src/stores src/traces
src/rate-limits: src/platform src/stores
src/bimi: src/concurrency src/net
src/branding: config src/stores
src/sandbox: src/platform src/stores
src/workspaces: src/platform src/stores
src/metrics: src src/platform src/stores
src/queue: src src/concurrency src/platform src/stores
src/retention: config src src/platform src/queue src/stores
src/auth: config src src/concurrency src/net src/platform src/queue src/stores
src/suppression: src src/mail src/platform src/stores
src/events: src/concurrency src/platform src/queue src/stores
src/inbound-mail: src src/crypto src/events src/mail src/platform src/queue src/stores
src/contacts: src src/concurrency src/events src/mail src/platform src/queue src/stores
src/domains: config src src/bimi src/concurrency src/events src/mail src/net src/platform src/queue src/sandbox
  src/stores
src/providers: config src src/concurrency src/crypto src/events src/net src/platform src/queue src/stores
src/webhooks: config/settings src src/crypto src/events src/net src/platform src/queue src/stores
src/egress: config config/settings src src/domains src/platform src/stores src/suppression
src/certificates: config src src/auth src/concurrency src/crypto src/domains src/platform src/stores
src/going-live: config src src/certificates src/domains src/egress src/net src/platform src/queue src/stores
src/imports: src src/contacts src/platform src/stores
src/scoring: src src/domains src/mail src/platform src/stores
src/segments: src/contacts src/platform src/stores
src/shaping: config src src/concurrency src/mail src/platform src/providers src/queue src/stores
src/templates: src/concurrency src/contacts src/mail src/platform src/stores
src/messages: config src src/concurrency src/contacts src/egress src/events src/mail src/platform src/providers
  src/queue src/shaping src/stores src/suppression src/templates src/traces src/workspaces
src/people: config src src/auth src/concurrency src/crypto src/mail src/messages src/net src/platform src/queue
  src/rate-limits src/stores src/workspaces
src/privacy: src src/contacts src/mail src/messages src/platform src/stores src/suppression
src/submission: config src src/auth src/mail src/messages src/mime src/platform src/providers src/queue src/templates
src/operator: config src src/crypto src/domains src/mail src/messages src/platform src/queue src/retention src/stores
  src/workspaces
src/subscribe: config src src/branding src/contacts src/crypto src/mail src/messages src/net src/operator src/platform
  src/queue src/rate-limits src/stores
src/report-arrivals: src src/crypto src/net src/platform src/rate-limits src/stores
src/tls-reports: src src/domains src/mail src/messages src/net src/platform src/report-arrivals src/stores
src/dmarc: config src/domains src/events src/platform src/report-arrivals src/stores
src/tracking: config src src/concurrency src/contacts src/crypto src/domains src/events src/mail src/messages src/net
  src/platform src/queue src/stores src/suppression
src/statistics: src src/events src/platform src/stores src/suppression src/tracking
src/change-stream: src src/auth src/concurrency src/events src/messages src/people src/platform src/queue
  src/statistics src/stores
src/deliverability: src src/egress src/operator src/platform src/shaping src/statistics src/stores src/suppression
src/deferred-content: src src/concurrency src/contacts src/messages src/platform src/stores src/templates src/tracking
src/campaigns: config src src/concurrency src/deferred-content src/egress src/events src/going-live src/mail
  src/messages src/platform src/queue src/segments src/stores src/suppression src/templates
src/automations: config config/settings src src/campaigns src/contacts src/deferred-content src/events src/mail
  src/messages src/net src/platform src/queue src/stores src/templates src/webhooks
src/doctor: config src/certificates src/crypto src/domains src/egress src/going-live src/metrics src/net
  src/operator src/platform src/queue src/retention src/stores src/suppression

# process: mail transfer, stages first
mta/route: config config/settings src/concurrency src/net src/platform
mta/smtp: src/mail src/net
mta/smtp-server: config config/settings src src/certificates src/net src/platform
mta/sandbox: config mta/smtp-server src src/concurrency src/crypto src/domains src/mail src/platform src/sandbox
  src/stores
mta/classify: src/mail src/messages
mta/egress: config src src/auth src/concurrency src/egress src/messages
mta/compose: src/concurrency src/mail src/mime src/templates src/tracking
mta/security: src src/concurrency src/net src/operator src/platform src/queue src/stores src/tls-reports
mta/shaping: src src/mail src/operator src/queue src/shaping src/stores
mta/inbound: config config/settings mta/classify mta/sandbox mta/smtp-server src src/concurrency src/crypto src/dmarc
  src/domains src/egress src/events src/inbound-mail src/mail src/messages src/metrics src/net src/platform src/queue
  src/rate-limits src/report-arrivals src/stores src/suppression src/tls-reports src/tracking src/workspaces
mta/submission: config config/settings mta/smtp-server src src/auth src/concurrency src/mail src/messages src/metrics
  src/net src/platform src/queue src/rate-limits src/stores src/submission src/templates src/traces src/workspaces
mta/transport: config config/settings mta/classify mta/egress mta/route mta/security mta/shaping mta/smtp src
  src/concurrency src/mail src/messages src/net src/platform src/providers src/shaping
mta/delivery: config mta/compose mta/egress mta/route mta/sandbox mta/security mta/shaping mta/smtp mta/transport src
  src/concurrency src/contacts src/deferred-content src/domains src/going-live src/mail src/messages src/mime
  src/platform src/providers src/queue src/stores src/suppression src/traces src/tracking src/workspaces
mta/dry-run: config mta/delivery mta/route mta/security mta/smtp mta/transport src src/mail src/mime src/net
  src/operator src/platform src/queue src/shaping src/stores src/submission src/suppression src/workspaces
mta/scheduling: config mta/delivery mta/egress mta/route mta/shaping mta/transport src src/concurrency src/egress
  src/messages src/platform src/providers src/queue src/shaping src/stores src/suppression
mta/outbound: config mta/delivery mta/dry-run mta/egress mta/scheduling mta/shaping mta/transport src src/concurrency
  src/messages src/metrics src/queue src/stores
mta: config mta/inbound mta/outbound mta/sandbox mta/submission src src/concurrency src/crypto src/metrics src/operator
  src/stores

# process: REST API and pages
api/http: config config/settings src src/auth src/campaigns src/certificates src/change-stream src/contacts
  src/deferred-content src/events src/mail src/messages src/metrics src/mime src/net src/operator src/people
  src/platform src/rate-limits src/stores src/submission src/templates src/traces src/tracking src/workspaces
api/openapi: api/http src/events src/platform
api/pages: api/http src/branding src/people src/platform src/subscribe src/tracking
api/sending: api/http src/auth src/mail src/messages src/net src/platform src/providers src/queue src/stores
  src/submission src/templates src/workspaces
api/routes: api/http api/openapi api/pages api/sending config src src/auth src/automations src/branding src/campaigns
  src/change-stream src/concurrency src/contacts src/deliverability src/dmarc src/doctor src/domains src/egress
  src/events src/imports src/inbound-mail src/mail src/messages src/metrics src/net src/operator src/people
  src/platform src/privacy src/providers src/queue src/retention src/sandbox src/segments src/shaping src/statistics
  src/stores src/subscribe src/suppression src/templates src/tls-reports src/tracking src/webhooks src/workspaces
api: api/http api/routes config src src/auth src/certificates src/change-stream src/concurrency src/contacts src/events
  src/messages src/net src/operator src/people src/platform src/rate-limits src/stores src/templates src/traces
  src/tracking

# process: worker
worker: config src src/automations src/campaigns src/certificates src/concurrency src/contacts src/dmarc src/domains
  src/egress src/events src/going-live src/imports src/inbound-mail src/messages src/metrics src/net src/operator
  src/people src/platform src/privacy src/providers src/queue src/retention src/scoring src/statistics src/stores
  src/suppression src/templates src/tls-reports src/traces src/tracking src/webhooks src/workspaces

# command line
bin/terminal:
bin/supervisor: bin/terminal config src/crypto src/platform src/stores
bin/service: bin/supervisor config src/platform
bin/cli: api/http api/routes bin/supervisor bin/terminal config src src/auth src/contacts src/platform src/stores
  src/templates src/workspaces
bin/egress: bin/cli bin/terminal config src/domains src/egress src/stores
bin/queue: bin/cli bin/terminal src src/messages src/operator src/platform src/queue src/shaping
bin/doctor: bin/cli config mta/route src/doctor src/domains src/net src/stores src/tls-reports
bin/setup: bin/cli bin/doctor bin/supervisor config src/doctor
bin/backup: bin/cli bin/supervisor config src/crypto src/operator src/platform src/queue src/stores

# benchmark
bench/mails: src/mime
bench/harness: bench/mails bin/supervisor src/crypto
bench/references: bench/harness bin/supervisor
bench/scenarios: bench/harness bench/mails bin/supervisor src/crypto src/platform src/tracking
bench: bench/harness bench/mails bench/references bench/scenarios bin/supervisor
bench/partitions: bench bench/harness bin/supervisor src/events src/messages src/platform src/queue src/stores

# test support
test/support: api api/http api/openapi bin/cli bin/supervisor config mta/delivery mta/sandbox mta/shaping mta/smtp src
  src/auth src/crypto src/domains src/egress src/events src/going-live src/mail src/messages src/net src/people
  src/platform src/queue src/sandbox src/shaping src/stores src/tracking src/webhooks src/workspaces

# test runner
test: bin/supervisor config mta/classify src/platform test/support

# commands
bin/commands: api api/http api/routes bench bench/harness bin/backup bin/cli bin/doctor bin/egress bin/queue
  bin/service bin/setup bin/supervisor bin/terminal config config/settings mta mta/classify mta/delivery mta/dry-run
  mta/egress mta/inbound src src/auth src/certificates src/crypto src/deliverability src/dmarc src/doctor src/domains
  src/egress src/going-live src/mail src/messages src/net src/operator src/people src/platform src/providers src/queue
  src/retention src/sandbox src/shaping src/stores src/suppression src/tls-reports src/tracking src/workspaces test
  worker

# main program
bin: bin/cli bin/commands bin/supervisor bin/terminal config src/platform

# scenarios, examples, packages and the client
docs/examples:
packaging:
packaging/container:
packaging/helm:
packaging/monitoring:
packaging/systemd:
bench/migrations: *
packaging/verify: test/support
bench/erasure: *
bench/refill: *
bench/inbound: *
bench/statistics: *
test/faults: *
test/flows: *
test/dashboard: *
test/spec: *
clients/typescript: api api/openapi

# dashboard: it knows the API only through its generated client
dashboard: api api/openapi clients/typescript test/support
dashboard/src/api:
dashboard/src/ui:
dashboard/src/ui/gallery: dashboard/src/ui
dashboard/src/texts/en: dashboard/src/ui
dashboard/src/texts/de: dashboard/src/texts/en dashboard/src/ui
dashboard/src/texts: dashboard/src/texts/de dashboard/src/texts/en
dashboard/src/session: dashboard/src/api dashboard/src/texts dashboard/src/ui
dashboard/src/shell: dashboard/src/api dashboard/src/session dashboard/src/texts dashboard/src/texts/en
  dashboard/src/ui
dashboard/src/shared: dashboard/src/api dashboard/src/texts dashboard/src/ui
dashboard/src/contact-list: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/audiences: dashboard/src/api dashboard/src/contact-list dashboard/src/session dashboard/src/shared
  dashboard/src/shell dashboard/src/texts dashboard/src/ui
dashboard/src/contacts: dashboard/src/api dashboard/src/contact-list dashboard/src/session dashboard/src/shared
  dashboard/src/shell dashboard/src/texts dashboard/src/ui
dashboard/src/suppressions: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/domains: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/messages: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/keys: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/webhooks: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/campaigns: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/inbox: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/smtp: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/accounts: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/templates: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/start: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/received: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/operator: dashboard/src/api dashboard/src/shared dashboard/src/shell dashboard/src/texts dashboard/src/ui
dashboard/src/overview: dashboard/src/api dashboard/src/shared dashboard/src/shell dashboard/src/texts dashboard/src/ui
dashboard/src/automations: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/ui-gallery: dashboard/src/shell dashboard/src/ui/gallery
dashboard/src/account: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/audit: dashboard/src/api dashboard/src/shared dashboard/src/shell dashboard/src/texts dashboard/src/ui
dashboard/src/deliverability: dashboard/src/api dashboard/src/shared dashboard/src/shell dashboard/src/texts
  dashboard/src/ui
dashboard/src/settings: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src/team: dashboard/src/api dashboard/src/session dashboard/src/shared dashboard/src/shell
  dashboard/src/texts dashboard/src/ui
dashboard/src: dashboard/src/account dashboard/src/accounts dashboard/src/audiences dashboard/src/audit
  dashboard/src/automations dashboard/src/campaigns dashboard/src/contacts dashboard/src/deliverability
  dashboard/src/domains dashboard/src/inbox dashboard/src/keys dashboard/src/messages dashboard/src/operator
  dashboard/src/overview dashboard/src/received dashboard/src/settings dashboard/src/shell dashboard/src/smtp
  dashboard/src/start dashboard/src/suppressions dashboard/src/team dashboard/src/templates dashboard/src/ui
  dashboard/src/ui-gallery dashboard/src/webhooks
`)

/**
 * What a test beside the code (`*.test.ts`, `*.test-data.ts`) may import in addition: `test/support`, and what its
 * folder's row here names. Below `test` every file is test code, and one row in FOLDERS holds for all of them.
 */
export const TESTS = parseRules(`
src/mail: bench/mails
src/mime: mta/compose
src/auth: src/workspaces
src/suppression: src/messages
src/domains: src/crypto worker
src/egress: worker
src/scoring: src/contacts
src/templates: src/workspaces
src/privacy: src/events
src/operator: worker
src/automations: src/imports
mta/sandbox: mta/classify
mta/egress: src/mail src/platform src/stores
mta/compose: src/crypto src/domains src/platform
mta/security: mta/route
bin/commands: src/privacy
mta/delivery: src/crypto
api/http: api
api/openapi: api
api/routes: bin/commands src/crypto
api: api/openapi src/sandbox
worker: src/deferred-content
dashboard/src/overview: dashboard/src/texts/en src/workspaces
packaging: config src/crypto src/operator
packaging/container: config
packaging/helm: config src/crypto
packaging/monitoring: src/metrics
packaging/systemd: config src/crypto
docs/examples: bin/supervisor
`)

export interface Wall {
  readonly rule: string
  /** Folders on the one side; each stands for all folders below it, too. */
  readonly from: readonly string[]
  readonly to: readonly string[]
  /** Files that may cross it. */
  readonly except?: readonly string[]
}

const STAGES = ['route', 'compose', 'egress', 'shaping', 'security', 'smtp', 'classify'].map((name) => `mta/${name}`)
const PROCESSES = ['api', 'mta', 'worker']
const PRODUCTION = ['config', 'src', ...PROCESSES, 'migrations', 'bin']

/** What no row may permit, whatever it says. A stage does import its own folder. */
export const WALLS: readonly Wall[] = [
  ...PROCESSES.map((name) => ({
    rule: 'api, mta and worker are three processes; they share code in src only',
    from: [name],
    to: PROCESSES.filter((other) => other !== name),
  })),
  ...STAGES.map((name) => ({
    rule: 'stages of a delivery do not import each other; mta/delivery connects them',
    from: [name],
    to: STAGES.filter((other) => other !== name),
  })),
  { rule: 'src is a library for the processes', from: ['src', 'config'], to: [...PROCESSES, 'bin'] },
  {
    rule: 'production code imports no test and no benchmark',
    from: PRODUCTION,
    to: ['test', 'bench'],
    except: ['bin/commands/check.ts', 'bin/commands/test.ts', 'bin/commands/bench.ts'],
  },
]

/** True for `tree` and for a folder below it. */
export function isWithin(folder: string, tree: string): boolean {
  return folder === tree || folder.startsWith(`${tree}/`)
}

/** The folders that a file of `folder` may import, other than its own; null for a folder without a row. */
export function listPermitted(folder: string, isBesideTest: boolean): readonly string[] | null {
  const row = FOLDERS.get(folder)
  if (row === undefined) return null
  return isBesideTest ? [...row, 'test/support', ...(TESTS.get(folder) ?? [])] : row
}

export function formatRow(folder: string, permitted: readonly string[]): string {
  const words = [`${folder}:`, ...permitted.toSorted()]
  const lines = ['']
  for (const word of words) {
    const line = lines.at(-1) ?? ''
    if (line.length + word.length >= 119) lines.push(`  ${word}`)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

function parseRules(text: string): Rules {
  const rows = text
    .replaceAll(/\n +/g, ' ')
    .split('\n')
    .filter((row) => row !== '' && !row.startsWith('#'))
  return new Map(
    rows.map((row) => {
      const [folder = '', permitted = ''] = row.split(/: */)
      return [folder, permitted === '' ? [] : permitted.split(' ')]
    }),
  )
}
