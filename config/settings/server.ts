/** The machine, its stores and its log. */
import { choice, dataDir, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const serverSettings = {
  hostname: optional({
    env: 'HOSTNAME',
    read: text,
    description:
      'Name of this server in EHLO and Message-ID. A public name ends sandbox mode. ' +
      'If it is not set or not public, `mailstead.localhost`.',
    guide: 'sandbox',
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
  logLevel: setting({
    env: 'LOG_LEVEL',
    read: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    description:
      'Lowest level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. ' +
      'Log lines are JSON on stdout.',
  }),
}
