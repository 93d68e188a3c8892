/** Lists suspended mail. Operators forget suspensions, and a restored database suspends all mail (restore-fence.ts). */
import { listSuspensions } from '#src/queue/suspensions.ts'
import { type DoctorCheck, failed, ok, skipped, warning } from './check.ts'

const MAX_SHOWN = 3
const MAX_TEXT_LENGTH = 160

export const SUSPENSIONS: DoctorCheck = {
  name: 'suspensions',
  run: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const suspensions = await listSuspensions(db)
    const all = suspensions.find(({ kind, subject }) => kind === 'domain' && subject === '*')
    if (all !== undefined)
      return failed(
        `all mail is suspended: ${all.reason.slice(0, MAX_TEXT_LENGTH)}`,
        `mailstead queue resume '*' resumes it`,
      )
    if (suspensions.length === 0) return ok('no mail is suspended')
    const list = suspensions
      .slice(0, MAX_SHOWN)
      .map(({ kind, subject, reason }) => `${kind} ${subject} (${reason.slice(0, MAX_TEXT_LENGTH)})`)
    const more = suspensions.length > MAX_SHOWN ? `; and ${suspensions.length - MAX_SHOWN} more` : ''
    return warning(
      `suspended: ${list.join('; ')}${more}`,
      'mailstead queue status lists all; mailstead queue resume ends a suspension',
    )
  },
}
