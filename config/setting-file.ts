/**
 * Files that a setting names. A file that cannot be read at the start stops the process and names the setting.
 *
 * A role that root starts reads them before it switches to a user who perhaps cannot: then the text that it remembers
 * counts, which its supervisor replaces when the file changes.
 */
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from './load.ts'

interface RememberedText {
  readonly text: string
  readonly version: number
}

const remembered = new Map<string, RememberedText>()

/** For a file that this process perhaps cannot read later. */
export function rememberSettingFile(file: string, text: string): void {
  remembered.set(file, { text, version: (remembered.get(file)?.version ?? 0) + 1 })
}

/** @throws if the file can be read neither now nor before this process gave up its rights. */
export function readSettingText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const known = remembered.get(file)
    if (known === undefined || !isForbidden(error)) throw error
    return known.text
  }
}

/** Changes whenever the file is written or replaced. */
export function settingFileState(file: string): string {
  return `${statusOf(file)} ${remembered.get(file)?.version ?? 0}`
}

function statusOf(file: string): string {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found === undefined ? 'none' : `${found.ino} ${found.size} ${found.mtimeMs}`
  } catch (error) {
    return isForbidden(error) ? 'forbidden' : 'unreadable'
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}

/** @throws ConfigError if the file cannot be read. */
export function readSettingFile(setting: string, file: string): string {
  try {
    return readSettingText(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`${setting} cannot be read: ${reason}`, { cause: error })
  }
}

/**
 * Certificate authorities in PEM.
 * @throws ConfigError if the file cannot be read or contains no certificate. Node would ignore such a file silently.
 */
export function readAuthorities(setting: string, file: string): string {
  const text = readSettingFile(setting, file)
  if (text.includes('-----BEGIN ')) return text
  throw new ConfigError(`${setting}: ${file} contains no PEM certificate.`)
}

/** @throws ConfigError if the file cannot be read or is no JSON. */
export function readSettingJson(setting: string, file: string): unknown {
  try {
    return JSON.parse(readSettingText(file))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`${setting} cannot be read: ${reason}`, { cause: error })
  }
}
