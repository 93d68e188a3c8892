/** The end of a log, for a message to a person. */
import { readFileSync } from 'node:fs'

/** The last lines of a file; what is missing or unreadable is empty. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
  } catch {
    return ''
  }
}
