/**
 * The environment of this process. No other production file reads `process.env`: settings come from `load.ts`, and what
 * concerns the machine (PATH, the cache of compiled code, what a child process inherits) from here.
 */
import { delimiter } from 'node:path'

export const environment: NodeJS.ProcessEnv = process.env

/** The folders of PATH. */
export function listPathFolders(): string[] {
  return (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}
