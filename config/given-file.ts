/** A file that a setting names, read at the start: where it cannot be, the process does not start, and says which setting it is. */
import { readFileSync } from 'node:fs'
import { ConfigError } from './load.ts'

/** @throws ConfigError when it cannot be read. */
export function readGiven(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${setting} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** Certificates in PEM. @throws ConfigError also when there is none: TLS would leave it out without a word. */
export function readAuthorities(setting: string, file: string): string {
  const text = readGiven(setting, file)
  if (text.includes('-----BEGIN ')) return text
  throw new ConfigError(`${setting} (${file}) holds no certificate in PEM`)
}
