/** Files that a setting names, read at start. A file that cannot be read stops the process and names the setting. */
import { readFileSync } from 'node:fs'
import { ConfigError } from './load.ts'

/** @throws ConfigError if the file cannot be read. */
export function readSettingFile(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
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
