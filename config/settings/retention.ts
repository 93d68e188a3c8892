/** How long mail is stored. Plans and workspaces may have other values: `mailstead retention set`. */
import { days } from './readers.ts'
import { setting } from './setting.ts'

export const retentionSettings = {
  bodyRetentionDays: setting({
    env: 'BODY_RETENTION_DAYS',
    read: days(1),
    default: '30',
    unit: 'days',
    description:
      'How long the text, the HTML and the attachments of a message are stored after it was accepted. ' +
      'Those of mail that is still to be sent stay. Never longer than the message.',
    guide: 'retention-and-erasure',
  }),
  eventRetentionDays: setting({
    env: 'EVENT_RETENTION_DAYS',
    read: days(7),
    default: '90',
    unit: 'days',
    description: 'How long events and the SMTP dialogs of delivery attempts are stored.',
    guide: 'retention-and-erasure',
  }),
  statisticsRetentionDays: setting({
    env: 'STATISTICS_RETENTION_DAYS',
    read: days(90),
    default: '1826',
    unit: 'days',
    description:
      'How long statistics are stored: counts by day, tag, campaign and so on, and clicks by link. They contain no ' +
      'addresses.',
    guide: 'statistics',
  }),
  messageRetentionDays: setting({
    env: 'MESSAGE_RETENTION_DAYS',
    read: days(7),
    default: '400',
    unit: 'days',
    description:
      'How long a message is stored after it was accepted: its sender, recipients, subject, tags and results. ' +
      'Mail that is still to be sent stays.',
    guide: 'retention-and-erasure',
  }),
}
