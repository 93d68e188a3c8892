/**
 * The files that settings name, for roles that switch to a user of their own. Certificates and secrets are often
 * readable by root only. A role therefore reads its files before the switch, and its supervisor, which keeps the rights
 * of root, sends it each file that changes later. A role gets only the files that it uses. A role without a supervisor
 * has to be restarted after a change, unless its user may read the file.
 */
import type { ChildProcess } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import type { Config } from '#config/load.ts'
import { rememberSettingFile, settingFileState } from '#config/setting-file.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'

type FileSetting =
  | 'tlsCertFile'
  | 'tlsKeyFile'
  | 'extraCaFile'
  | 'plansFile'
  | 'shapingFile'
  | 'machinesFile'
  | 'oauthProvidersFile'
  | 'identityProvidersFile'

export type FileSettings = Pick<Config, FileSetting | 'httpsPort'>

/** The roles that read the file. */
const USERS: Readonly<Record<FileSetting, readonly KeyRole[]>> = {
  tlsCertFile: ['submission', 'inbound'],
  tlsKeyFile: ['submission', 'inbound'],
  extraCaFile: ['api', 'outbound', 'worker'],
  plansFile: ['api', 'outbound', 'submission', 'worker'],
  shapingFile: ['outbound', 'api'],
  machinesFile: ['api'],
  oauthProvidersFile: ['api', 'outbound', 'worker'],
  identityProvidersFile: ['api'],
}

/** With HTTPS_PORT the api has TLS of its own. */
const USERS_OF_HTTPS: readonly FileSetting[] = ['tlsCertFile', 'tlsKeyFile']

/** Files that are read again when they change. */
const WATCHED: readonly FileSetting[] = ['tlsCertFile', 'tlsKeyFile', 'shapingFile']
const CHECK_MS = 1000

interface FileMessage {
  readonly settingFile: string
  readonly text: string
}

/** Before the switch: remembers all files of these roles. One that cannot be read fails where it is used. */
export function rememberSettingFiles(config: FileSettings, roles: readonly KeyRole[]): void {
  for (const file of filesOf(config, roles, Object.keys(USERS) as FileSetting[])) {
    const text = readOrNull(file)
    if (text !== null) rememberSettingFile(file, text)
  }
}

/** In a role that has switched users: accepts the files that its supervisor sends. */
export function acceptSettingFiles(): void {
  process.on('message', (message: unknown) => {
    if (isFileMessage(message)) rememberSettingFile(message.settingFile, message.text)
  })
}

/** The files of these roles that change while they run and that this user may not read. */
export function unreadableFiles(config: FileSettings, roles: readonly KeyRole[]): string[] {
  return filesOf(config, roles, WATCHED).filter((file) => !isReadable(file))
}

/** Sends the files of a role to its process whenever they change. Returns a function that ends this. */
export function sendSettingFiles(child: ChildProcess, config: FileSettings, roles: readonly KeyRole[]): () => void {
  const sent = new Map(filesOf(config, roles, WATCHED).map((file) => [file, settingFileState(file)]))
  if (sent.size === 0) return () => undefined
  const timer = setInterval(() => {
    for (const [file, state] of sent) {
      const now = settingFileState(file)
      if (now === state || !child.connected) continue
      const text = readOrNull(file)
      if (text === null) continue // being replaced
      sent.set(file, now)
      child.send({ settingFile: file, text } satisfies FileMessage, () => undefined)
    }
  }, CHECK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function filesOf(config: FileSettings, roles: readonly KeyRole[], settings: readonly FileSetting[]): string[] {
  return settings
    .filter((setting) => usersOf(setting, config).some((role) => roles.includes(role)))
    .flatMap((setting) => config[setting] ?? [])
}

function usersOf(setting: FileSetting, { httpsPort }: FileSettings): readonly KeyRole[] {
  return httpsPort !== null && USERS_OF_HTTPS.includes(setting) ? [...USERS[setting], 'api'] : USERS[setting]
}

function isFileMessage(message: unknown): message is FileMessage {
  return typeof message === 'object' && message !== null && 'settingFile' in message && 'text' in message
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}
