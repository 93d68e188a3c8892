/** The machine, its stores and its log. */
import { boolean, choice, dataDir, longKey, seconds, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const serverSettings = {
  mode: optional({
    env: 'MODE',
    read: choice('sandbox', 'live'),
    description:
      '`live` sends mail to the internet and needs `MAILSTEAD_HOSTNAME`. ' +
      '`sandbox` sends it to the built-in receiver. ' +
      'If it is not set, `sandbox`, except while `DNS_SERVERS` or `ROUTES` says where mail goes.',
    guide: 'going-live',
  }),
  hostname: optional({
    env: 'MAILSTEAD_HOSTNAME',
    read: text,
    description:
      'Public name of this server in EHLO and Message-ID. `MODE=live` needs it. ' +
      'If it is not set, `mailstead.localhost`.',
    guide: 'going-live',
  }),
  settingsFile: optional({
    env: 'SETTINGS_FILE',
    read: text,
    description:
      'File with settings, one `NAME=VALUE` per line, as `mailstead setup` writes it. Variables of the environment ' +
      'come first. `none` reads no file. If it is not set, `DATA_DIR/mailstead.env` where it exists.',
    guide: 'going-live',
  }),
  nodeName: optional({
    env: 'NODE_NAME',
    read: text,
    description:
      'Name of this machine or container in `mailstead node`. Each must have its own. ' +
      'If it is not set, the host name of the operating system.',
    guide: 'operations',
  }),
  databaseUrl: optional({
    env: 'DATABASE_URL',
    read: text,
    description:
      'URL of your own PostgreSQL 15 or newer, with `max_connections` of 200 or more. ' +
      'If it is not set, Mailstead runs an embedded PostgreSQL.',
  }),
  redisUrl: optional({
    env: 'REDIS_URL',
    read: text,
    description:
      'URL of your own Redis 6.2 or newer: `redis://`, `rediss://` or `unix:///path`. ' +
      'If it is not set, Mailstead starts one.',
  }),
  dataDir: setting({
    env: 'DATA_DIR',
    read: dataDir,
    default: 'data',
    description:
      'Folder of the embedded stores, generated keys and logs. A relative path starts at the project folder.',
  }),
  maxClockSkewSeconds: setting({
    env: 'MAX_CLOCK_SKEW_SECONDS',
    read: seconds,
    default: '300',
    unit: 's',
    description:
      "Largest difference between the clock of a machine and PostgreSQL's. Beyond it, the processes of that machine " +
      'accept and claim no mail.',
    guide: 'operations',
  }),
  keepRoot: setting({
    env: 'KEEP_ROOT',
    read: boolean,
    default: 'false',
    description:
      'Whether processes that root starts keep its rights: `true` or `false`. By default each role opens its ports ' +
      'and then switches to a user of its own. Only for containers that cannot switch users.',
    guide: 'operations',
  }),
  healthFile: optional({
    env: 'HEALTH_FILE',
    read: text,
    description:
      'File that a process touches every 5 seconds while it works, for health checks that look at its age. ' +
      'It belongs to one process. If it is not set, there is none.',
    guide: 'installing',
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    read: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    description:
      'Lowest level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. ' +
      'Log lines are JSON on stdout.',
  }),
  logAddressKey: optional({
    env: 'LOG_ADDRESS_KEY',
    read: longKey,
    description:
      'Key of at least 16 characters with which e-mail addresses in log lines are replaced by a hash; the domain ' +
      'stays. Must be the same on every machine. If it is not set, the log contains addresses.',
    guide: 'monitoring',
  }),
}
