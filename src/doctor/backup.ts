/** Checks that there is a recent backup. */
import { readLastBackup } from '#src/operator/backup-log.ts'
import { ok, warning } from './check.ts'
import { withDb } from './stores.ts'
import { doctorText } from './finding-texts.ts'

const HOUR_MS = 3_600_000

export const BACKUP = withDb('backup', async (db, { config: { isSandbox, backupWarningHours: hours } }) => {
  if (hours === null) return ok(doctorText('backup_unchecked'))
  const last = await readLastBackup(db)
  const todo = doctorText('backup_todo')
  if (last === null) return isSandbox ? ok(doctorText('backup_sandbox')) : warning(doctorText('backup_missing'), todo)
  const age = Math.floor((Date.now() - last.snapshotAt.getTime()) / HOUR_MS)
  const what = { at: last.snapshotAt.toISOString(), bytes: last.bytes, target: last.target }
  if (age >= hours && !isSandbox) return warning(doctorText('backup_old', { ...what, hours: age }), todo)
  return last.isEncrypted
    ? ok(doctorText('backup_last', what))
    : warning(doctorText('backup_plain', what), doctorText('backup_plain_todo'))
})
