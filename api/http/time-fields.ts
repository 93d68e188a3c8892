/** A time in a query: ISO 8601; UTC if it has no offset. */
import { z } from 'zod'
import { parseTime } from '#src/platform/time-input.ts'

export const time = z.string().transform((text, sink) => {
  const read = parseTime(text, 'UTC')
  if (read === null) sink.addIssue({ code: 'custom', message: 'must be a time in ISO 8601' })
  return read ?? z.NEVER
})
