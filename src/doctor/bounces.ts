/** Checks bounce processing: unparsed reports, suppressions on hold because of a receiver's outage, postmaster mail. */
import { joinSaid } from '#src/platform/finding-text.ts'
import { readBacklog } from '#src/suppression/report-list.ts'
import { countPending } from '#src/suppression/pending-suppressions.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

const LATE_MS = 5 * 60_000

export const BOUNCES: DoctorCheck = {
  name: 'bounces',
  run: async ({ db }) => {
    if (db === null) return skipped(doctorText('postgres_away'))
    const { waiting, oldest, postmasterMails: letters } = await readBacklog(db)
    if (oldest !== null && Date.now() - oldest.getTime() > LATE_MS) {
      const detail = doctorText('reports_late', { waiting, oldest: oldest.toISOString() })
      return warning(detail, doctorText('reports_late_todo'))
    }
    const outages = (await countPending(db)).filter(({ hold }) => hold === 'outage')
    if (outages.length > 0) {
      const list = outages
        .slice(0, 3)
        .map(({ receiver, count }) => `${receiver} (${count})`)
        .join(', ')
      return warning(doctorText('bounces_held', { list }), doctorText('bounces_held_todo'))
    }
    const processed = doctorText('reports_processed')
    return ok(letters === 0 ? processed : joinSaid([processed, doctorText('postmaster_mails', { count: letters })]))
  },
}
