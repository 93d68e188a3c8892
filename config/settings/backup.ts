/** Backups: their keys, S3, and how old the last one may be. */
import { countOrNone, text, url } from './readers.ts'
import { optional, setting } from './setting.ts'

export const backupSettings = {
  backupTarget: optional({
    env: 'BACKUP_TARGET',
    read: text,
    description:
      'Where `mailstead backup` writes without an argument: a file, a folder with a slash at its end, or ' +
      '`s3://bucket/folder/`. If it is not set, the command needs an argument.',
    guide: 'backup',
  }),
  backupRecipients: optional({
    env: 'BACKUP_RECIPIENTS',
    read: text,
    description:
      'Public keys of age (`age1…`), separated by commas, for which backups are encrypted. ' +
      '`mailstead backup --new-key FILE` makes a pair of keys.',
    guide: 'backup',
  }),
  backupPassphrase: optional({
    env: 'BACKUP_PASSPHRASE',
    read: text,
    description:
      'Passphrase of backups, 12 characters or more. Ignored if `BACKUP_RECIPIENTS` is set, except by `restore`.',
    guide: 'backup',
  }),
  backupS3Endpoint: optional({
    env: 'BACKUP_S3_ENDPOINT',
    read: url,
    description: 'URL of a server that is compatible with S3. If it is not set, S3 of AWS in `BACKUP_S3_REGION`.',
    guide: 'backup',
  }),
  backupS3Region: setting({
    env: 'BACKUP_S3_REGION',
    read: text,
    default: 'us-east-1',
    description: 'Region of the bucket. Most compatible servers accept any.',
    guide: 'backup',
  }),
  backupS3AccessKeyId: optional({
    env: 'BACKUP_S3_ACCESS_KEY_ID',
    read: text,
    description:
      "Access key of S3. If it is not set, the credentials that AWS' own tools would use: variables, profiles, or " +
      'the role of the machine.',
    guide: 'backup',
  }),
  backupS3SecretAccessKey: optional({
    env: 'BACKUP_S3_SECRET_ACCESS_KEY',
    read: text,
    description: 'Secret of `BACKUP_S3_ACCESS_KEY_ID`.',
    guide: 'backup',
  }),
  backupWarningHours: setting({
    env: 'BACKUP_WARNING_HOURS',
    read: countOrNone,
    default: '26',
    unit: 'h',
    description:
      'Age of the last backup from which `mailstead doctor` warns. `none`, if PostgreSQL itself archives its WAL and ' +
      'base backups.',
    guide: 'backup',
  }),
}
