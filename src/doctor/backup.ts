/** Checks that there is a recent backup. */
import { readLastBackup } from '#src/operator/backup-log.ts'
import { ok, warning } from './check.ts'
import { withDb } from './stores.ts'
import { countText } from '#src/platform/plural.ts'
import { timeText } from '#src/platform/time-text.ts'

const HOUR_MS = 3_600_000
const TODO = 'mailstead backup makes one: run it each day with a timer'

export const BACKUP = withDb('backup', async (db, { config: { isSandbox, backupWarningHours: hours } }) => {
  if (hours === null) return ok('BACKUP_WARNING_HOURS=none: not checked')
  const last = await readLastBackup(db)
  if (last === null) return isSandbox ? ok('none; a sandbox needs none') : warning('there is no backup', TODO)
  const age = Math.floor((Date.now() - last.snapshotAt.getTime()) / HOUR_MS)
  const detail = `the last one is of ${timeText(last.snapshotAt)}, ${countText(last.bytes, 'byte')} in ${last.target}`
  if (age >= hours && !isSandbox) return warning(`${detail}, ${countText(age, 'hour')} old`, TODO)
  return last.isEncrypted ? ok(detail) : warning(`${detail}, and not encrypted`, 'set BACKUP_RECIPIENTS')
})
