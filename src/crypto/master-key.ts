/**
 * The master keys, from which all other keys are derived (`role-keys.ts`): MASTER_KEY, the output of
 * MASTER_KEY_COMMAND, or the file master.key in DATA_DIR, which is generated when it does not exist. The first key
 * encrypts; the others are also valid for reading, so that a key can be replaced while all processes run
 * (rotation.ts).
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError } from '#config/load.ts'
import { loadOrGenerateSecret, syncFolder } from './generated-secret.ts'

/** 32 bytes each, the current first. Never empty. */
export type MasterKeys = readonly [current: Buffer, ...others: readonly Buffer[]]

export interface MasterKeySettings {
  readonly masterKey: string | null
  /** A command that prints the keys, for a key management service. */
  readonly masterKeyCommand: string | null
  readonly dataDir: string
}

const KEY_FILE = 'master.key'
const KEY_BYTES = 32
const COMMAND_TIMEOUT_MS = 30_000
const MAX_OUTPUT_BYTES = 64 * 1024
const HOW_TO_WRITE = 'must be 32 bytes, written as 64 hex digits or in base64 (openssl rand -hex 32)'

export function masterKeyFile({ dataDir }: Pick<MasterKeySettings, 'dataDir'>): string {
  return join(dataDir, KEY_FILE)
}

/** Where the keys come from, for messages. */
export function masterKeyOrigin(settings: MasterKeySettings): string {
  if (settings.masterKey !== null) return 'MASTER_KEY'
  return settings.masterKeyCommand === null ? masterKeyFile(settings) : 'MASTER_KEY_COMMAND'
}

/** @throws ConfigError if there is no key where one must be, or one has another length. */
export function loadMasterKeys(settings: MasterKeySettings): MasterKeys {
  return parseMasterKeys(readKeys(settings), masterKeyOrigin(settings))
}

export function generateMasterKey(): Buffer {
  return randomBytes(KEY_BYTES)
}

/** Replaces the file atomically: after a crash it has the keys of before or of now. Its owner stays. */
export function writeMasterKeyFile(file: string, keys: MasterKeys): void {
  const draft = `${file}.${process.pid}`
  const text = keys.map((key) => `${key.toString('hex')}\n`).join('')
  const { uid, gid } = statSync(file)
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  chownSync(draft, uid, gid)
  renameSync(draft, file)
  syncFolder(dirname(file))
}

function readKeys({ masterKey, masterKeyCommand, dataDir }: MasterKeySettings): string {
  if (masterKey !== null) return masterKey
  return masterKeyCommand === null ? loadOrGenerateSecret(dataDir, KEY_FILE) : outputOf(masterKeyCommand)
}

/** `origin` names the setting or file in the error, which never contains a key. */
export function parseMasterKeys(text: string, origin: string): MasterKeys {
  const [current, ...others] = text
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .map((word) => decodeKey(word, origin))
  if (current === undefined) throw new ConfigError(`${origin} has no key: it ${HOW_TO_WRITE}`)
  return [current, ...others]
}

function decodeKey(word: string, origin: string): Buffer {
  const key = Buffer.from(word, /^[0-9a-f]{64}$/i.test(word) ? 'hex' : 'base64')
  if (key.length !== KEY_BYTES) throw new ConfigError(`${origin} ${HOW_TO_WRITE}`)
  return key
}

function outputOf(command: string): string {
  try {
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    return execFileSync('/bin/sh', ['-c', command], {
      encoding: 'utf8',
      stdio: [...stdio],
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
    })
  } catch (error) {
    // the message of the error contains the command, which may contain a password
    const code = error instanceof Error && 'code' in error ? error.code : null
    const reason = code === 'ETIMEDOUT' ? `did not end within ${COMMAND_TIMEOUT_MS / 1000} s` : 'failed'
    throw new ConfigError(`MASTER_KEY_COMMAND ${reason}. Run it in a shell to see why`)
  }
}
