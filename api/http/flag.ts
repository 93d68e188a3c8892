/** Yes or no in a query: `true`, `1`, `yes` and their opposites in any case; left out it is no. */
import { z } from 'zod'

const TRUE = new Set(['true', '1', 'yes'])
const FALSE = new Set(['', 'false', '0', 'no'])

export const flag = z
  .string()
  .optional()
  .meta({ enum: ['true', 'false'], default: 'false' })
  .transform((given, sink) => {
    const text = (given ?? '').toLowerCase()
    if (!TRUE.has(text) && !FALSE.has(text)) sink.addIssue({ code: 'custom', message: 'must be true or false' })
    return TRUE.has(text)
  })
