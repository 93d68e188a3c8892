/** The commands of `mailstead`, in the order of its help. docs/reference/cli.md lists them with their usage. */
interface CommandRow {
  /** The module is `commands/<name>.ts`. */
  readonly name: string
  readonly summary: string
  /** The arguments of a command that does not use `bin/cli`; the others print their usage with `--help`. */
  readonly usage?: string
}

export const COMMANDS: readonly CommandRow[] = [
  { name: 'start', summary: 'run everything on this machine', usage: '' },
  { name: 'demo', summary: 'send sample messages on all tiers and show their outcomes', usage: '' },
  { name: 'api', summary: 'run the REST API and pages', usage: '' },
  { name: 'mta', summary: 'run mail transfer roles', usage: '[--roles outbound,inbound,submission,sandbox]' },
  { name: 'worker', summary: 'run webhooks, campaigns, automations, checks and housekeeping', usage: '' },
  { name: 'migrate', summary: 'migrate the database to this version' },
  { name: 'workspace', summary: 'create, list, pause and resume workspaces' },
  { name: 'key', summary: 'create, list and deactivate API keys' },
  { name: 'domain', summary: 'add, verify and list sending domains, rotate their DKIM keys' },
  { name: 'egress', summary: 'manage the sending IPs and their pools' },
  { name: 'account', summary: 'connect mailboxes and SMTP servers to send through' },
  { name: 'queue', summary: 'inspect, retry, suspend, resume and drop queued mail' },
  { name: 'shaping', summary: 'validate and replay traffic shaping rules, resume suspended receivers' },
  { name: 'tls', summary: 'set the TLS level of recipient domains' },
  { name: 'tls-reports', summary: 'list the TLS reports about your own mail domains' },
  { name: 'explain', summary: 'show everything that is known about one message' },
  { name: 'bounces', summary: 'list bounces and complaints, review the suppressions they caused' },
  { name: 'notices', summary: 'list and acknowledge problems that only the operator can fix' },
  { name: 'dry-run', summary: 'check a delivery up to RCPT without sending' },
  { name: 'parse-report', summary: 'parse a bounce or complaint from stdin' },
  { name: 'inbox', summary: 'list the mail that the sandbox received', usage: '[--json] [--limit N] [ID | --last]' },
  { name: 'compile', summary: 'compile the code of all roles, so that they start faster', usage: '' },
  { name: 'settings', summary: 'print all settings with their defaults' },
  { name: 'doctor', summary: 'check this installation and report problems' },
  { name: 'check', summary: 'check format, types and lint, of the project or of the given files', usage: '[FILE ...]' },
  {
    name: 'test',
    summary: 'run all checks and tests, or only the given test files',
    usage: '[FILE ...] [MOCHA OPTIONS]',
  },
  { name: 'bench', summary: 'measure throughput and latency on this machine', usage: '[SCENARIO ...] [OPTIONS]' },
]
