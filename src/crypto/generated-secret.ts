/**
 * A generated secret of this installation: 32 random bytes in DATA_DIR, mode 0600. It is generated once, even if two
 * processes start at the same time, and is flushed to disk before it is returned: data must never be encrypted with a
 * secret that a crash can lose. An existing but empty file is an error, never a reason to generate a new secret.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '#config/load.ts'

/** Returns the secret in hex. @throws when it cannot be read or created, or is empty. */
export function loadOrGenerateSecret(dataDir: string, name: string): string {
  const path = join(dataDir, name)
  mkdirSync(dataDir, { recursive: true })
  try {
    return readSecret(path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, path) // the first process wins; the others read its secret
    syncFolder(dataDir)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readSecret(path)
}

function readSecret(path: string): string {
  const secret = readFileSync(path, 'utf8').trim()
  if (secret === '')
    throw new ConfigError(
      `${path} is empty: restore it from a backup. No other key can decrypt the data that was encrypted with it`,
    )
  return secret
}

/** Flushes the folder, so that the file name survives a crash too. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
