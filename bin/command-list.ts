/** The commands of `mailstead`, in the order of its help. docs/reference/cli.md lists them with their usage. */
export interface CommandRow {
  /** The module is `commands/<name>.ts`. */
  readonly name: string
  readonly summary: string
  /** The arguments and examples of a command that does not use `bin/cli`; the others print their own `--help`. */
  readonly usage?: string
  readonly examples?: readonly string[]
  /** Packages do not contain it. */
  readonly needsCheckout?: boolean
}

export const COMMANDS: readonly CommandRow[] = [
  { name: 'start', summary: 'run everything on this machine', usage: '', examples: [''] },
  { name: 'demo', summary: 'send sample messages on all tiers and show their outcomes', usage: '', examples: [''] },
  { name: 'api', summary: 'run the REST API and pages', usage: '', examples: [''] },
  {
    name: 'mta',
    summary: 'run mail transfer roles',
    usage: '[--roles outbound,inbound,submission,sandbox]',
    examples: ['', '--roles submission,inbound'],
  },
  {
    name: 'worker',
    summary: 'run webhooks, campaigns, automations, checks and housekeeping',
    usage: '',
    examples: [''],
  },
  { name: 'env', summary: 'print the variables of the examples, with the first keys' },
  { name: 'setup', summary: 'ask for the settings of a live installation, check and write them' },
  { name: 'migrate', summary: 'migrate the database to this version' },
  { name: 'upgrade', summary: 'plan an upgrade, migrate without stopping mail, and finish it' },
  { name: 'workspace', summary: 'create, list, suspend, pause, resume and delete workspaces' },
  { name: 'user', summary: 'create, invite, list, disable and delete the people who sign in' },
  { name: 'key', summary: 'create, list and deactivate API keys' },
  { name: 'dmarc', summary: 'show DMARC reports about sending domains: sources, results, next steps' },
  { name: 'domain', summary: 'add, verify, list and remove sending domains, rotate their DKIM keys' },
  { name: 'certificate', summary: 'list, request and renew the certificates of the web and SMTP servers' },
  { name: 'node', summary: 'list, drain, undrain and forget the nodes of the installation' },
  { name: 'retention', summary: 'set how long plans and workspaces store their mail, list what is overdue' },
  { name: 'egress', summary: 'manage the sending IPs and their pools' },
  { name: 'account', summary: 'connect mailboxes and SMTP servers to send through' },
  { name: 'audience', summary: 'create, list and remove audiences' },
  { name: 'contact', summary: 'add, change, import, export and remove contacts' },
  { name: 'person', summary: 'export or erase everything that is stored about a person' },
  { name: 'template', summary: 'save, check, preview and remove templates' },
  { name: 'campaign', summary: 'create, preview, start, schedule, pause and cancel campaigns' },
  { name: 'statistics', summary: 'count mail by time, tag, receiver and so on, and clicks by link' },
  { name: 'desk', summary: 'show what to do next about deliverability, and the mail of each receiver' },
  { name: 'branding', summary: 'set the colours, texts and logo of the public pages of a workspace' },
  { name: 'inbound', summary: 'receive mail for addresses of a workspace, list, replay and delete it' },
  { name: 'webhook', summary: 'register, test and remove webhook endpoints, replay their events' },
  { name: 'suppression', summary: 'list, add, remove, import and export suppressed addresses' },
  { name: 'queue', summary: 'inspect, retry, suspend, resume and drop queued mail' },
  { name: 'shaping', summary: 'validate and replay traffic shaping rules, resume suspended receivers' },
  { name: 'tls', summary: 'set the TLS level of recipient domains' },
  { name: 'tls-reports', summary: 'list the TLS reports about your own mail domains' },
  { name: 'explain', summary: 'show everything that is known about one message' },
  { name: 'bounces', summary: 'list bounces and complaints, review the suppressions they caused' },
  { name: 'link', summary: 'block links of mail that abuses the service' },
  { name: 'notices', summary: 'list and acknowledge problems that only the operator can fix' },
  { name: 'dry-run', summary: 'check a delivery up to RCPT without sending' },
  { name: 'parse-report', summary: 'parse a bounce or complaint from stdin' },
  { name: 'inbox', summary: 'list the mail that the sandbox received' },
  {
    name: 'compile',
    summary: 'compile the code of all roles, so that they start faster',
    usage: '[--start]',
    examples: ['', '--start # the code of start itself'],
  },
  { name: 'backup', summary: 'back up database, keys and settings, encrypted, to a file, a pipe or S3' },
  { name: 'restore', summary: 'verify a backup, and restore database and keys from it' },
  { name: 'lost-mail', summary: 'after a restore: name lost mail, and settle mail that was sent already' },
  { name: 'rotate-master-key', summary: 'replace the key that encrypts stored keys and secrets' },
  { name: 'settings', summary: 'print all settings with their defaults' },
  { name: 'doctor', summary: 'check this installation and report problems' },
  {
    name: 'check',
    summary: 'check format, types and lint, of the project or of the given files',
    usage: '[FILE ...]',
    examples: ['', 'src/mail/address.ts'],
    needsCheckout: true,
  },
  {
    name: 'test',
    summary: 'run all checks and tests, or only the given test files',
    usage: '[FILE ...] [MOCHA OPTIONS]',
    examples: ['', 'src/mail/address.test.ts', "mta/scheduling --grep 'second MX'"],
    needsCheckout: true,
  },
  {
    name: 'bench',
    summary: 'measure throughput and latency on this machine',
    usage: '[SCENARIO ...] [OPTIONS]',
    needsCheckout: true,
  },
]
