/** Lists suspended mail. Operators forget suspensions, and a restored database suspends all mail (restore-fence.ts). */
import { joinSaid } from '#src/platform/finding-text.ts'
import { listSuspensions } from '#src/queue/suspensions.ts'
import { type DoctorCheck, failed, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

const MAX_SHOWN = 3
const MAX_TEXT_LENGTH = 160

export const SUSPENSIONS: DoctorCheck = {
  name: 'suspensions',
  run: async ({ db }) => {
    if (db === null) return skipped(doctorText('postgres_away'))
    const suspensions = await listSuspensions(db)
    const all = suspensions.find(({ kind, subject }) => kind === 'domain' && subject === '*')
    if (all !== undefined)
      return failed(
        doctorText('all_suspended', { reason: all.reason.slice(0, MAX_TEXT_LENGTH) }),
        doctorText('all_suspended_todo'),
      )
    if (suspensions.length === 0) return ok(doctorText('none_suspended'))
    const list = suspensions
      .slice(0, MAX_SHOWN)
      .map(({ kind, subject, reason }) => `${kind} ${subject} (${reason.slice(0, MAX_TEXT_LENGTH)})`)
    const more = suspensions.length > MAX_SHOWN ? [doctorText('more', { count: suspensions.length - MAX_SHOWN })] : []
    return warning(
      joinSaid([doctorText('suspended', { list: list.join('; ') }), ...more]),
      doctorText('suspended_todo'),
    )
  },
}
