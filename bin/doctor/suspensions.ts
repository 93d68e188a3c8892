/** What is stopped: an operator forgets it, and a restored database stops all mail by itself (src/queue/restore-fence.ts). */
import { listSuspensions } from '#src/queue/suspensions.ts'
import { type Check, failed, ok, skipped, warning } from './check.ts'

const MOST_SHOWN = 3
const MOST_TEXT = 160

export const SUSPENSIONS: Check = {
  name: 'suspensions',
  look: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const stopped = await listSuspensions(db)
    const all = stopped.find(({ kind, subject }) => kind === 'domain' && subject === '*')
    if (all !== undefined)
      return failed(`all mail is stopped: ${all.reason.slice(0, MOST_TEXT)}`, `mailstead queue resume '*' lets it go`)
    if (stopped.length === 0) return ok('no mail is stopped')
    const list = stopped
      .slice(0, MOST_SHOWN)
      .map(({ kind, subject, reason }) => `${kind} ${subject} (${reason.slice(0, MOST_TEXT)})`)
    const more = stopped.length > MOST_SHOWN ? `; and ${stopped.length - MOST_SHOWN} more` : ''
    return warning(
      `stopped: ${list.join('; ')}${more}`,
      'mailstead queue status shows all; mailstead queue resume lets go',
    )
  },
}
