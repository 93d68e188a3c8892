/** Outbound SMTP: routes, limits and times. */
import { boolean, count, decimal, port, routes, seconds, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const deliverySettings = {
  smtpOutPort: setting({
    env: 'SMTP_OUT_PORT',
    read: port,
    default: '25',
    description: 'Port of the receiving servers.',
  }),
  routes: setting({
    env: 'ROUTES',
    read: routes,
    default: '',
    description: 'Transport map: `domain=smtp://host:port,…`, with `*` for all other domains.',
  }),
  outboundSessions: setting({
    env: 'OUTBOUND_SESSIONS',
    read: count,
    default: '500',
    description: 'SMTP connections that one outbound process may have open.',
  }),
  outboundProcesses: optional({
    env: 'OUTBOUND_PROCESSES',
    read: count,
    description:
      'How many outbound processes `start` runs. If it is not set, one for every two cores of the machine, ' +
      'at least 1 and at most 16.',
    guide: 'operations',
  }),
  isCompact: optional({
    env: 'COMPACT',
    read: boolean,
    description:
      '`true`: `start` runs the mail roles in two processes, whose roles share a user and keys. `false`: each in one ' +
      'of its own. If it is not set, in two on machines with less than 1 GB of memory; in the sandbox of others, ' +
      'those that receive mail share one.',
    guide: 'installing',
  }),
  shapingFile: optional({
    env: 'SHAPING_FILE',
    read: text,
    description: 'Traffic shaping rules to use in place of `config/shaping.yaml`. A changed file is read again.',
    guide: 'traffic-shaping',
  }),
  oauthProvidersFile: optional({
    env: 'OAUTH_PROVIDERS_FILE',
    read: text,
    description:
      'JSON file with the client ids of Google, Microsoft or other OAuth servers ' +
      'whose mailboxes may be connected.',
    guide: 'connected-accounts',
  }),
  retryScale: setting({
    env: 'RETRY_SCALE',
    read: decimal,
    default: '1',
    unit: 'factor',
    description: 'Multiplies every retry time.',
  }),
  messageLifetimeSeconds: optional({
    env: 'MESSAGE_LIFETIME_SECONDS',
    read: seconds,
    unit: 's',
    description: 'Age at which a recipient expires. If it is not set, the age of its tier.',
  }),
  dotTimeoutSeconds: setting({
    env: 'DOT_TIMEOUT_SECONDS',
    read: seconds,
    default: '600',
    unit: 's',
    description: 'How long to wait for the reply to the final dot (RFC 5321 section 4.5.3.2.6).',
  }),
  leaseSeconds: setting({
    env: 'LEASE_SECONDS',
    read: seconds,
    default: '60',
    unit: 's',
    description: 'How long an outbound process that sends no heartbeat keeps its recipients.',
  }),
  journalWaitSeconds: setting({
    env: 'JOURNAL_WAIT_SECONDS',
    read: seconds,
    default: '60',
    unit: 's',
    description:
      'How long the recipients of a dead outbound process wait, after its lease expired, for the next outbound ' +
      'process on its node, which reads from `DATA_DIR/journal` which of them were accepted.',
    guide: 'operations',
  }),
  reconcileSeconds: setting({
    env: 'RECONCILE_SECONDS',
    read: seconds,
    default: '15',
    unit: 's',
    description: 'How often the schedule in Redis is compared with PostgreSQL.',
  }),
}
