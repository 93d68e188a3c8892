/** Files in folders that belong to another user. */
import { rmSync, truncateSync } from 'node:fs'

/** Removes a file, or empties it if this user may write the file but not its folder. @throws if it may do neither. */
export function removeOrEmpty(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {
    truncateSync(file)
  }
}
