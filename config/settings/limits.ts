/** The largest message, recipient list and contact file that are accepted, and how long the audit log is kept. */
import { count } from './readers.ts'
import { setting } from './setting.ts'

export const limitSettings = {
  auditRetentionDays: setting({
    env: 'AUDIT_RETENTION_DAYS',
    read: count,
    default: '400',
    unit: 'days',
    description: 'How long the audit log of changes is kept.',
    guide: 'api-security',
  }),
  maxMessageBytes: setting({
    env: 'MAX_MESSAGE_BYTES',
    read: count,
    default: '26214400',
    unit: 'bytes',
    description: 'Largest message, after decoding.',
  }),
  maxRecipients: setting({
    env: 'MAX_RECIPIENTS',
    read: count,
    default: '50',
    description: 'Recipients of one message.',
  }),
  maxImportBytes: setting({
    env: 'MAX_IMPORT_BYTES',
    read: count,
    default: '268435456',
    unit: 'bytes',
    description: 'Largest contact file. A million rows take about 100 MB. The upload must finish within five minutes.',
    guide: 'contacts-and-audiences',
  }),
}
