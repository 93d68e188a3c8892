/** What comes back: whether it is read, whether suppressions are held because a receiver seems broken, and letters to the postmaster. */
import { readBacklog } from '#mta/inbound/report-list.ts'
import { countPending } from '#src/suppression/pending-suppressions.ts'
import { type Check, ok, skipped, warning } from './check.ts'

const LATE_MS = 5 * 60_000

export const BOUNCES: Check = {
  name: 'bounces',
  look: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const { waiting, oldest, postmasterMails: letters } = await readBacklog(db)
    if (oldest !== null && Date.now() - oldest.getTime() > LATE_MS) {
      const detail = `${waiting} reports are not read, the oldest since ${oldest.toISOString()}`
      return warning(detail, 'see that the inbound role runs, and look at its log')
    }
    const outages = (await countPending(db)).filter(({ hold }) => hold === 'outage')
    if (outages.length > 0) {
      const list = outages
        .slice(0, 3)
        .map(({ receiver, count }) => `${receiver} (${count})`)
        .join(', ')
      const todo = 'mailstead bounces held shows all; they end by themselves (docs/guides/bounces-and-complaints.md)'
      return warning(`hard bounces jumped at ${list}: suppressions are held`, todo)
    }
    return ok(
      letters === 0 ? 'all are read' : `all are read; ${letters} letters in a week: mailstead bounces list --letters`,
    )
  },
}
