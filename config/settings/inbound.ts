/** Inbound SMTP: bounces, complaints and unsubscribe mail. */
import { count, countOrZero, days, port, secondsUpTo, spamFilterAddress, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const inboundSettings = {
  inboundPort: setting({
    env: 'INBOUND_PORT',
    read: port,
    default: '25',
    description:
      'Port that receives bounces and complaints. Falls back to 2526 where the user may not bind ports below 1024.',
    guide: 'bounces-and-complaints',
  }),
  inboundConnections: setting({
    env: 'INBOUND_CONNECTIONS',
    read: count,
    default: '1000',
    description: 'Connections that one process accepts on the inbound port. One network may open a fifth of them.',
    guide: 'bounces-and-complaints',
  }),
  inboundMaxMessageBytes: setting({
    env: 'INBOUND_MAX_MESSAGE_BYTES',
    read: count,
    default: '52428800',
    unit: 'bytes',
    description:
      'Largest message at the inbound port, which EHLO announces as SIZE. A bounce may return a complete message of ' +
      'yours, so do not set it below MAX_MESSAGE_BYTES.',
    guide: 'inbound-mail',
  }),
  inboundDailyEmails: setting({
    env: 'INBOUND_DAILY_EMAILS',
    read: count,
    default: '50000',
    description: 'Mails that the inbound routes of one workspace accept on a day (UTC). Further ones are deferred.',
    guide: 'inbound-mail',
  }),
  inboundStoredMb: setting({
    env: 'INBOUND_STORED_MB',
    read: count,
    default: '5120',
    unit: 'MiB',
    description:
      'Mail of one workspace that the inbound routes accept within INBOUND_RETENTION_DAYS. Further mail is deferred.',
    guide: 'inbound-mail',
  }),
  inboundRetentionDays: setting({
    env: 'INBOUND_RETENTION_DAYS',
    read: days(1),
    default: '30',
    unit: 'days',
    description: 'How long mail that inbound routes received is stored, with its attachments.',
    guide: 'inbound-mail',
  }),
  dmarcAlertMessages: setting({
    env: 'DMARC_ALERT_MESSAGES',
    read: countOrZero,
    default: '100',
    unit: 'messages in 7 days',
    description:
      'From how many messages of one source that fail DMARC the event `domain.unaligned` is raised; 0: never.',
    guide: 'dmarc-reports',
  }),
  spamFilter: optional({
    env: 'SPAM_FILTER',
    read: spamFilterAddress,
    description:
      'Filter that judges mail of inbound routes: `spamd://host:783` or `spamd:///path/of/socket` for SpamAssassin, ' +
      '`rspamd://host:11333` for rspamd. If it is not set, the verdict comes from authentication and form only.',
    guide: 'inbound-mail',
  }),
  spamFilterSeconds: setting({
    env: 'SPAM_FILTER_SECONDS',
    read: secondsUpTo(15),
    default: '5',
    unit: 's',
    description: 'How long to wait for the filter. Without an answer, its verdict is `unknown`.',
    guide: 'inbound-mail',
  }),
  bounceDomain: optional({
    env: 'BOUNCE_DOMAIN',
    read: text,
    description: 'Domain of the return-path. If it is not set, `bounces.MAILSTEAD_HOSTNAME`.',
    guide: 'bounces-and-complaints',
  }),
}
