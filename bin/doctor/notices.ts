/** What the operator was told and has not acknowledged. */
import { listNotices, NOTICE_KINDS } from '#src/operator/notices.ts'
import { type Check, ok, skipped, warning } from './check.ts'

const MOST_SHOWN = 3
const MOST = 1000
const MOST_TEXT = 120

export const NOTICES: Check = {
  name: 'notices',
  look: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const open = await listNotices(db, { all: false, limit: MOST })
    if (open.length === 0) return ok('there is nothing that only you can mend')
    const list = open
      .slice(0, MOST_SHOWN)
      .map(({ kind, subject, text }) => `${NOTICE_KINDS[kind]}: ${subject} (${text.slice(0, MOST_TEXT)})`)
    const more = open.length > MOST_SHOWN ? `; and ${open.length - MOST_SHOWN} more` : ''
    return warning(
      `${list.join('; ')}${more}`,
      'mailstead notices shows all; mailstead notices ack ID says that it was read',
    )
  },
}
