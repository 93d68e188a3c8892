/** Checks bounce processing: unparsed reports, suppressions on hold because of a receiver's outage, postmaster mail. */
import { countText } from '#src/platform/plural.ts'
import { timeText } from '#src/platform/time-text.ts'
import { readBacklog } from '#src/suppression/report-list.ts'
import { countPending } from '#src/suppression/pending-suppressions.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'

const LATE_MS = 5 * 60_000

export const BOUNCES: DoctorCheck = {
  name: 'bounces',
  run: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const { waiting, oldest, postmasterMails: letters } = await readBacklog(db)
    if (oldest !== null && Date.now() - oldest.getTime() > LATE_MS) {
      const detail = `${countText(waiting, 'report')} waiting, the oldest since ${timeText(oldest)}`
      return warning(detail, 'check that the inbound role runs, and read its log')
    }
    const outages = (await countPending(db)).filter(({ hold }) => hold === 'outage')
    if (outages.length > 0) {
      const list = outages
        .slice(0, 3)
        .map(({ receiver, count }) => `${receiver} (${count})`)
        .join(', ')
      const todo = 'mailstead bounces held lists them; they end automatically'
      return warning(`unusually many hard bounces at ${list}: suppressions are on hold`, todo)
    }
    return ok(
      letters === 0
        ? 'all reports are processed'
        : `all reports are processed; ${countText(letters, 'mail')} to the postmaster in a week: ` +
            'mailstead bounces list --letters',
    )
  },
}
