/** Lists the notices that the operator has not acknowledged. */
import { listNotices, noticeKindText } from '#src/operator/notices.ts'
import { findNoticeTranslation } from '#src/operator/notice-texts.ts'
import { aboutSentence, type FindingText, joinSaid } from '#src/platform/finding-text.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

const MAX_SHOWN = 3
const MAX_NOTICES = 1000
const MAX_TEXT_LENGTH = 120

export const NOTICES: DoctorCheck = {
  name: 'notices',
  run: async ({ db }) => {
    if (db === null) return skipped(doctorText('postgres_away'))
    const { items: open } = await listNotices(db, { all: false, limit: MAX_NOTICES })
    if (open.length === 0) return ok(doctorText('no_notices'))
    const list = open
      .slice(0, MAX_SHOWN)
      .map(({ kind, subject, text }) => joinSaid([noticeKindText(kind), aboutSubject(subject, text)], ': '))
    const more = open.length > MAX_SHOWN ? [doctorText('more', { count: open.length - MAX_SHOWN })] : []
    return warning(joinSaid([...list, ...more]), doctorText('notices_todo'))
  },
}

function aboutSubject(subject: string, text: string): FindingText {
  const translation = findNoticeTranslation(text)
  return {
    text: `${subject} (${text.slice(0, MAX_TEXT_LENGTH)})`,
    sentences: translation === null ? [] : [aboutSentence(subject), translation],
  }
}
