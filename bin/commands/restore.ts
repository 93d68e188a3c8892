/**
 * `mailstead restore`: verifies a backup, and puts its database and keys in the place of an empty or, with a flag, a
 * used installation. All mail is suspended afterwards (src/queue/restore-fence.ts). bin/backup does the work.
 */
import { join } from 'node:path'
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { withDatabase } from '#bin/cli/context.ts'
import { type DecryptionKeys, readKeyFile, readPassphraseFile } from '#bin/backup/encryption.ts'
import { writeFiles } from '#bin/backup/installation-files.ts'
import { restoreBackup, type RestoreResult, type VerifiedBackup, verifyBackup } from '#bin/backup/restore.ts'
import { openSource } from '#bin/backup/storage.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { countText } from '#src/platform/plural.ts'
import { timeText } from '#src/platform/time-text.ts'

const ACTION: CliAction = {
  summary: 'verify a backup, and restore database and keys from it',
  examples: [
    'mailstead-20311104T020000Z.tar.gz.age --key-file backup.key --verify',
    's3://backups/mailstead/mailstead-20311104T020000Z.tar.gz.age --key-file backup.key',
    'backup.tar.gz.age --key-file backup.key --files keys  # only keys and settings',
  ],
  usage: 'SOURCE [--key-file FILE | --passphrase-file FILE] [--verify] [--files FOLDER] [--overwrite]',
  arguments: [1, 1],
  options: ['key-file', 'passphrase-file', 'files'],
  flags: ['verify', 'overwrite'],
  about: {
    'key-file': 'a file with private keys of age',
    'passphrase-file': 'a file with the passphrase; by default BACKUP_PASSPHRASE',
    verify: 'only read and check all of it',
    files: 'only write its keys and settings to this new folder',
    overwrite: 'replace a database that is not empty',
  },
  run: async (call) => {
    const config = loadConfig(call.io.env)
    const source = openSource(config, call.argument(0))
    const keys = readDecryptionKeys(call, config)
    const backup = await verifyBackup(source, keys)
    const folder = call.option('files')
    if (folder !== null) writeFiles(folder, backup.files)
    if (call.has('verify') || folder !== null) return reportVerified(call, source.name, backup, folder)
    const result = await withDatabase(config, call.io, (databaseUrl) =>
      restoreBackup({
        config,
        env: call.io.env,
        databaseUrl,
        source,
        keys,
        backup,
        mayReplace: call.has('overwrite'),
        command: call.io.command ?? 'restore',
      }),
    )
    const settings = join(
      config.dataDir,
      `restored-${backup.description.snapshotAt.replaceAll(/[-:]|\.\d+/g, '')}-${Date.now()}`,
    )
    writeFiles(settings, backup.files)
    return reportRestored(call, backup, result, settings)
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('restore', ACTION, args, io)
}

function readDecryptionKeys(call: CommandCall, config: Config): DecryptionKeys {
  const [keyFile, passphraseFile] = [call.option('key-file'), call.option('passphrase-file')]
  return {
    identities: keyFile === null ? [] : readKeyFile(keyFile),
    passphrase: passphraseFile === null ? config.backupPassphrase : readPassphraseFile(passphraseFile),
  }
}

function rowsOf({ manifest }: VerifiedBackup): number {
  return Object.values(manifest.rows).reduce((sum, count) => sum + count, 0)
}

function reportVerified(call: CommandCall, name: string, backup: VerifiedBackup, folder: string | null): number {
  const { snapshotAt, version, node } = backup.description
  const files = folder === null ? '' : `\nIts keys and settings are in ${folder}.`
  return call.respond(
    `${name} is complete: ${countText(rowsOf(backup), 'row')}, all changes until ${timeText(new Date(snapshotAt))}, ` +
      `made by Mailstead ${version} on ${node}.${files}`,
    { source: name, snapshot_at: snapshotAt, version, node, rows: rowsOf(backup), encrypted: backup.isEncrypted },
  )
}

function reportRestored(call: CommandCall, backup: VerifiedBackup, result: RestoreResult, settings: string): number {
  const { snapshotAt } = backup.description
  const { isSuspended, keys, keptKeys } = result
  const lines = [
    `Restored ${countText(rowsOf(backup), 'row')}: the database has all changes until ` +
      `${timeText(new Date(snapshotAt))}.`,
    keys === 'present' ? 'The master keys were here already.' : 'The master keys of the backup are in their place.',
    ...(keptKeys === null ? [] : [`The keys that were here are in ${keptKeys}.`]),
    `The settings of the backup are in ${settings}. They name the stores of the old installation: compare them.`,
    isSuspended
      ? 'All mail is suspended: some of it may have been sent after the backup was made. Start Mailstead, run ' +
        "mailstead lost-mail with the logs of the outbound processes, and then mailstead queue resume '*'."
      : 'No mail waits, so none is suspended. mailstead lost-mail names mail that was accepted after the backup.',
  ]
  return call.respond(lines.join('\n'), {
    snapshot_at: snapshotAt,
    rows: rowsOf(backup),
    suspended: isSuspended,
    keys,
    kept_keys: keptKeys,
    settings,
  })
}
