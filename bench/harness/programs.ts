/**
 * Finds installed programs. Debian installs servers in /usr/sbin, which is not
 * on an ordinary user's PATH.
 */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

const ALWAYS = ['/usr/sbin', '/usr/local/sbin', '/sbin']

/** The full path of a program; null when it is not installed. */
export function findProgram(name: string): string | null {
  const dirs = [...(process.env['PATH'] ?? '').split(':'), ...ALWAYS].filter((dir) => dir !== '')
  return dirs.map((dir) => join(dir, name)).find(isExecutable) ?? null
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
