/** A boolean in a query: `true`, `1`, `yes` or `false`, `0`, `no`, in any case; false by default. */
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
