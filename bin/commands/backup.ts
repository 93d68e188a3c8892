/**
 * `mailstead backup`: writes database, keys and settings as one encrypted stream to a file, a pipe or S3, while
 * Mailstead runs. bin/backup does the work; `mailstead restore` reads it.
 */
import { writeFileSync } from 'node:fs'
import { runAction } from '#bin/cli/actions.ts'
import { UsageError, type CliAction, type CommandCall, type CommandIo } from '#bin/cli/call.ts'
import { withDatabase } from '#bin/cli/context.ts'
import { makeBackup, type BackupResult } from '#bin/backup/backup.ts'
import { type EncryptionKey, generateKeyFile, readPassphraseFile } from '#bin/backup/encryption.ts'
import { openTarget, STDOUT } from '#bin/backup/storage.ts'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { countText } from '#src/platform/plural.ts'
import { timeText } from '#src/platform/time-text.ts'

const ACTION: CliAction = {
  summary: 'back up database, keys and settings to a file, a pipe or S3, encrypted, while everything runs',
  examples: [
    '--new-key backup.key  # once; keep it away from this machine',
    '/var/backups/mailstead/ --recipients age1…  # the name has the time',
    's3://backups/mailstead/',
    '- | ssh vault "cat > mailstead.tar.gz.age"',
  ],
  usage: '[TARGET] [--recipients KEYS | --passphrase-file FILE | --plain] | --new-key FILE',
  arguments: [0, 1],
  options: ['recipients', 'passphrase-file', 'new-key'],
  flags: ['plain'],
  about: {
    recipients: 'public keys of age, separated by commas; by default BACKUP_RECIPIENTS',
    'passphrase-file': 'a file with a passphrase; by default BACKUP_PASSPHRASE',
    'new-key': 'make a pair of keys: writes the private key to this file, and prints the public key',
    plain: 'do not encrypt; the backup contains the master keys',
  },
  run: async (call) => {
    const file = call.option('new-key')
    if (file !== null) return writeNewKey(call, file)
    const config = loadConfig(call.io.env)
    const where = call.arguments[0] ?? config.backupTarget
    if (where === null) throw new UsageError('TARGET is missing, and BACKUP_TARGET is not set')
    const key = chooseKey(call, config)
    const target = openTarget(config, where, defaultName(key !== null))
    const result = await withDatabase(config, call.io, (databaseUrl) =>
      makeBackup({ config, env: call.io.env, databaseUrl, target, key, command: call.io.command ?? 'backup' }),
    )
    return report(call, result, where === STDOUT)
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('backup', ACTION, args, io)
}

/** Null: not encrypted, as the operator wants. */
function chooseKey(call: CommandCall, config: Config): EncryptionKey | null {
  const given = ['recipients', 'passphrase-file'].filter((name) => call.option(name) !== null)
  if (given.length + (call.has('plain') ? 1 : 0) > 1)
    throw new UsageError('use one of --recipients, --passphrase-file and --plain')
  if (call.has('plain')) return null
  const file = call.option('passphrase-file')
  if (file !== null) return { passphrase: readPassphraseFile(file) }
  const recipients = (call.option('recipients') ?? config.backupRecipients ?? '').split(/[\s,]+/).filter(Boolean)
  if (recipients.length > 0) return { recipients }
  if (config.backupPassphrase !== null) return { passphrase: config.backupPassphrase }
  throw new UserError(
    'A backup contains the keys of your domains, so it is encrypted.',
    'Make a pair of keys with ' +
      'mailstead backup --new-key FILE, and set BACKUP_RECIPIENTS to the public key; or use --passphrase-file. ' +
      '--plain does not encrypt.',
  )
}

function defaultName(isEncrypted: boolean): string {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')
  return `mailstead-${time}.tar.gz${isEncrypted ? '.age' : ''}`
}

async function writeNewKey(call: CommandCall, file: string): Promise<number> {
  const { recipient, text } = await generateKeyFile()
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    throw new UserError(`${file} cannot be written (${reasonOf(error)}).`, 'Check the folder, or choose another one.')
  }
  return call.respond(
    `The private key is in ${file}. Without it no backup can be restored: keep copies away from this machine.\n` +
      `The public key, for BACKUP_RECIPIENTS:\n${recipient}`,
    { file, recipient },
  )
}

function report(call: CommandCall, result: BackupResult, isPiped: boolean): number {
  const { snapshotAt, target, bytes, rows, isEncrypted, hasKeys, recordError } = result
  const json = { target, snapshot_at: snapshotAt, bytes, rows, encrypted: isEncrypted, has_master_keys: hasKeys }
  const text =
    `${target}: ${countText(bytes, 'byte')}, ${countText(rows, 'row')}, all changes until ${timeText(snapshotAt)}.` +
    (hasKeys ? '' : ' The master keys are not in it: MASTER_KEY_COMMAND has them.')
  if (recordError !== null) call.io.err(`The backup was made, but not recorded for doctor: ${reasonOf(recordError)}\n`)
  if (!isEncrypted) call.io.err('The backup is not encrypted, and contains the keys and secrets.\n')
  if (!isPiped) return call.respond(text, json)
  call.io.err(`${text}\n`)
  return 0
}
