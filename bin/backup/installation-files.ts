/**
 * The keys and settings of an installation, which are not in its database. A restore puts only the master keys in their
 * place, because the database is useless without them. The settings name the stores of the old installation, which a
 * second one must not use: they are written to a folder beside it. Keys from a key management service stay there.
 */
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { Config } from '#config/load.ts'
import { SETTINGS } from '#config/schema.ts'
import { loadMasterKeys, masterKeyFile, masterKeyOrigin, parseMasterKeys } from '#src/crypto/master-key.ts'
import { syncFolder } from '#src/crypto/generated-secret.ts'
import { masterKeyId } from '#src/crypto/role-keys.ts'
import { type ArchiveFile, FILES_FOLDER } from './archive-format.ts'

export const KEY_FILE = 'master.key'
const SETTINGS_FILE = 'mailstead.env'
/** Files of DATA_DIR that were generated once. */
const GENERATED = ['admin.token', 'operator.json']
/** Settings of a machine or of this command, not of the installation. */
const NOT_COPIED = new Set(['DATA_DIR', 'SETTINGS_FILE', 'HEALTH_FILE', 'BACKUP_PASSPHRASE', 'MASTER_KEY'])
const MAX_FILE_BYTES = 4 * 1024 * 1024

export interface InstallationKeys {
  /** The ids of all valid master keys. */
  readonly ids: readonly string[]
  /** The content of master.key; null if a key management service has the keys, or there are none yet. */
  readonly text: string | null
}

export function readKeys(config: Config): InstallationKeys {
  const isFile = masterKeyOrigin(config) === masterKeyFile(config)
  if (isFile && !existsSync(masterKeyFile(config))) return { ids: [], text: null }
  const keys = loadMasterKeys(config)
  const isService = config.masterKey === null && config.masterKeyCommand !== null
  const text = isService ? null : keys.map((key) => `${key.toString('hex')}\n`).join('')
  return { ids: keys.map(idOf), text }
}

function idOf(key: Buffer): string {
  return masterKeyId(key).toString('hex')
}

/** The files of the archive. Settings are those of this command, which are those of the processes on this machine. */
export function listFiles(config: Config, env: NodeJS.ProcessEnv, { text }: InstallationKeys): ArchiveFile[] {
  const settings = readSettings(env)
  const generated = GENERATED.map((name) => ({ name, file: join(config.dataDir, name) }))
  const named = settings
    .filter(([name]) => name.endsWith('_FILE'))
    .map(([name, file]) => ({ name: `${name}.content`, file }))
  return [
    ...(text === null ? [] : [{ name: KEY_FILE, data: Buffer.from(text) }]),
    { name: SETTINGS_FILE, data: Buffer.from(settings.map(([name, value]) => `${name}=${value}\n`).join('')) },
    ...[...generated, ...named].flatMap(({ name, file }) => {
      const data = readSmallFile(file)
      return data === null ? [] : [{ name, data }]
    }),
  ].map(({ name, data }) => ({ name: `${FILES_FOLDER}${name}`, data }))
}

function readSettings(env: NodeJS.ProcessEnv): [name: string, value: string][] {
  const names = Object.values(SETTINGS).flatMap((row) => [row.env, `${row.env}_FILE`])
  return [...new Set(names)]
    .filter((name) => !NOT_COPIED.has(name) && !NOT_COPIED.has(name.replace(/_FILE$/, '')))
    .flatMap((name) => {
      const value = env[name]?.trim() ?? ''
      return value === '' || /[\r\n]/.test(value) ? [] : [[name, value] as [string, string]]
    })
}

/** Null for what is no file, is too large, or cannot be read. */
function readSmallFile(file: string): Buffer | null {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats?.isFile() !== true || stats.size > MAX_FILE_BYTES) return null
  try {
    return readFileSync(file)
  } catch {
    return null
  }
}

/** Writes the files of a backup, without their folder, to a new folder that only its owner can read. */
export function writeFiles(folder: string, files: readonly ArchiveFile[]): void {
  if (existsSync(folder))
    throw new UserError(
      `${folder} exists, and the files of a backup need a folder of their own.`,
      'Choose another name.',
    )
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const { name, data } of files) writeFileSync(join(folder, name), data, { mode: 0o600, flag: 'wx', flush: true })
}

/** What a restore does about the master keys of the target. */
export type KeyPlan =
  | { readonly kind: 'present' }
  | { readonly kind: 'write'; readonly file: string; readonly text: string }
  | { readonly kind: 'refuse'; readonly reason: string }

/** Decides without changing anything. `needed` are the ids of the keys of the backup. */
export function planKeys(
  config: Config,
  env: NodeJS.ProcessEnv,
  { needed, text }: { readonly needed: readonly string[]; readonly text: string | null },
): KeyPlan {
  const own = readKeys(config).ids
  const missing = needed.filter((id) => !own.includes(id))
  if (missing.length === 0) return { kind: 'present' }
  const file =
    env['MASTER_KEY_FILE'] ?? (masterKeyOrigin(config) === masterKeyFile(config) ? masterKeyFile(config) : null)
  const held = text === null ? [] : parseMasterKeys(text, KEY_FILE).map(idOf)
  if (text !== null && file !== null && missing.every((id) => held.includes(id))) return { kind: 'write', file, text }
  const where = masterKeyOrigin(config)
  return {
    kind: 'refuse',
    reason:
      text === null
        ? `The backup contains no master keys, and ${where} lacks ${missing.join(', ')}, which its database needs. ` +
          'Set MASTER_KEY or MASTER_KEY_COMMAND as the installation had it that made the backup.'
        : `${where} lacks the master keys ${missing.join(', ')}, which the database of the backup needs. ` +
          'Write them to a folder with --files FOLDER, set MASTER_KEY to the content of FOLDER/master.key, and repeat.',
  }
}

/** Puts the keys in their place; returns how to undo it. Keys that were there get another name, and stay. */
export function writeKeys(
  { file, text }: { readonly file: string; readonly text: string },
  nowMs: number,
): { readonly kept: string | null; undo(): void } {
  const kept = existsSync(file) ? `${file}.before-restore-${nowMs}` : null
  const draft = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  if (kept !== null) {
    const { uid, gid, mode } = statSync(file)
    chownSync(draft, uid, gid)
    writeFileSync(kept, readFileSync(file), { mode, flag: 'wx', flush: true })
  }
  renameSync(draft, file)
  syncFolder(dirname(file))
  return {
    kept,
    undo: () => {
      if (kept !== null) renameSync(kept, file)
    },
  }
}
