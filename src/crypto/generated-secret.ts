/**
 * A secret of this installation that nobody gave: 32 random bytes in DATA_DIR, made once (0600), also when two processes start together. It
 * is on the disk before anybody has it: what was sealed with it must not outlive it. One that was emptied is never made anew.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '#config/load.ts'

/** In hex, as it was made. @throws when it cannot be read or made, or is empty. */
export function keptSecret(dataDir: string, name: string): string {
  const path = join(dataDir, name)
  mkdirSync(dataDir, { recursive: true })
  try {
    return read(path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, path) // the first link wins; a loser reads the winner's
    flush(dataDir)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return read(path)
}

function read(path: string): string {
  const secret = readFileSync(path, 'utf8').trim()
  if (secret === '')
    throw new ConfigError(
      `${path} is empty: bring it back from a backup, for what it sealed cannot be opened with another`,
    )
  return secret
}

/** The name too is on the disk. */
function flush(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
