/** Lists the notices that the operator has not acknowledged. */
import { listNotices, NOTICE_KINDS } from '#src/operator/notices.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'

const MAX_SHOWN = 3
const MAX_NOTICES = 1000
const MAX_TEXT_LENGTH = 120

export const NOTICES: DoctorCheck = {
  name: 'notices',
  run: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const { items: open } = await listNotices(db, { all: false, limit: MAX_NOTICES })
    if (open.length === 0) return ok('no open notices')
    const list = open
      .slice(0, MAX_SHOWN)
      .map(({ kind, subject, text }) => `${NOTICE_KINDS[kind]}: ${subject} (${text.slice(0, MAX_TEXT_LENGTH)})`)
    const more = open.length > MAX_SHOWN ? `; and ${open.length - MAX_SHOWN} more` : ''
    return warning(
      `${list.join('; ')}${more}`,
      'mailstead notices lists all; mailstead notices ack ID acknowledges one',
    )
  },
}
