/** The largest message, recipient list and contact file that are accepted. */
import { count } from './readers.ts'
import { setting } from './setting.ts'

export const limitSettings = {
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
