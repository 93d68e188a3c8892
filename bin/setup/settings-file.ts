/**
 * Writes the settings file: complete and on disk before it has its name, so that no process reads half of it, and
 * never over an existing file, also if two setups run at once. Only its owner may read it.
 */
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'

const WRITABLE = 'Create the folder and allow this user to write to it, or set SETTINGS_FILE to another file.'

/** @throws UserError if the file exists or cannot be written; then nothing is changed. */
export function writeNewFile(file: string, text: string): void {
  const draft = `${file}.${process.pid}.new`
  try {
    mkdirSync(dirname(file), { recursive: true })
    rmSync(draft, { force: true })
    const opened = openSync(draft, 'wx', 0o600)
    try {
      writeSync(opened, text)
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
    linkSync(draft, file)
  } catch (error) {
    throw new UserError(`${file} cannot be written (${reasonOf(error)}).`, WRITABLE)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Renames the present file and writes the new one; returns the new name of the old one. If the new one cannot be
 * written, the old one has its name again.
 */
export function replaceFile(file: string, text: string): string {
  const kept = `${file}.${new Date().toISOString().replaceAll(/[:.]/g, '')}`
  try {
    renameSync(file, kept)
  } catch (error) {
    throw new UserError(`${file} cannot be renamed (${reasonOf(error)}).`, WRITABLE)
  }
  try {
    writeNewFile(file, text)
  } catch (error) {
    renameSync(kept, file)
    throw error
  }
  return kept
}
