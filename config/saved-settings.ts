/**
 * The settings file: one `NAME=VALUE` per line, as `mailstead setup` writes it and as systemd and containers read it.
 * At the start of a process its values are added to the environment, where a variable that is set comes first; the
 * processes that it starts inherit them and do not read the file again, which perhaps only root can.
 *
 * A line that is not understood stops the process: a misspelled name would otherwise be a setting that has no effect.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigError } from './load.ts'
import { SETTINGS } from './schema.ts'
import { dataDir } from '#config/settings/readers.ts'

const NAMES = new Set(Object.values(SETTINGS).map(({ env }) => env))
const NO_FILE = 'none'
const FILE_NAME = 'mailstead.env'

export type SavedSettings = Readonly<Record<string, string>>

/** @throws ConfigError that lists every line that is wrong. */
export function parseSettings(text: string, file: string): SavedSettings {
  const values: Record<string, string> = {}
  const wrong: string[] = []
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, name = '', value = ''] = /^\s*([A-Z][A-Z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (name === '') wrong.push(`line ${i + 1} is not NAME=VALUE`)
    else if (!isSetting(name)) wrong.push(`line ${i + 1}: ${name} is not a setting`)
    else values[name] = unquote(value)
  }
  if (wrong.length > 0) throw new ConfigError(`${file}:\n  ${wrong.join('\n  ')}`)
  return values
}

function isSetting(name: string): boolean {
  return NAMES.has(name) || (name.endsWith('_FILE') && NAMES.has(name.replace(/_FILE$/, '')))
}

function unquote(value: string): string {
  return /^(["']).*\1$/.test(value) && value.length > 1 ? value.slice(1, -1) : value
}

/** Where the settings file of this environment is; null if none is read. */
export function settingsFileOf(env: NodeJS.ProcessEnv): string | null {
  const named = env['SETTINGS_FILE']?.trim() ?? ''
  if (named === NO_FILE) return null
  return named === '' ? join(dataDir(env['DATA_DIR']?.trim() || 'data'), FILE_NAME) : resolve(named)
}

/** Adds the values of the settings file to this environment. @throws ConfigError if it cannot be read. */
export function applySettingsFile(env: NodeJS.ProcessEnv): void {
  const file = settingsFileOf(env)
  const isNamed = (env['SETTINGS_FILE']?.trim() ?? '') !== ''
  if (file === null || (!isNamed && !existsSync(file))) return
  for (const [name, value] of Object.entries(parseSettings(readSettings(file), file)))
    if (!isSet(env, name)) env[name] = value
  env['SETTINGS_FILE'] = NO_FILE
}

/** NAME and NAME_FILE are one setting. */
function isSet(env: NodeJS.ProcessEnv, name: string): boolean {
  const base = NAMES.has(name) ? name : name.replace(/_FILE$/, '')
  return [base, `${base}_FILE`].some((one) => (env[one]?.trim() ?? '') !== '')
}

function readSettings(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`the settings file cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
