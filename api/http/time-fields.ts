/** A time in a query, as clients write it: ISO 8601, in UTC where it has no offset. */
import { z } from 'zod'
import { readMoment } from '#src/platform/time-input.ts'

export const time = z.string().transform((text, sink) => {
  const read = readMoment(text, 'UTC')
  if (read === null) sink.addIssue({ code: 'custom', message: 'is no time: use ISO 8601' })
  return read ?? z.NEVER
})
