/** Reads the filters and limits of `mailstead queue` from its options. A UsageError names all that are wrong. */
import { type Call, UsageError } from '#bin/cli/actions.ts'
import type { Context } from '#src/context.ts'
import type { QueueFilter } from '#src/messages/queue-view.ts'
import { FILTER_FIELDS, parseFilter, parseSuspendable, type FilterField, type FilterInput } from '#src/operator/filter.ts'
import type { Detail } from '#src/platform/errors.ts'
import { parseTime } from '#src/platform/time-input.ts'
import type { SuspensionTarget } from '#src/queue/suspensions.ts'

const optionOf = (field: string): string => field.replaceAll('_', '-')
const FIELDS = Object.keys(FILTER_FIELDS) as FilterField[]
export const FILTERS = FIELDS.map(optionOf)
export const FILTER_USAGE = FILTERS.map((name) => `[--${name} ${name[0]?.toUpperCase() ?? ''}]`).join(' ')
const USUAL_LIMIT = 50
const MAX_LIMIT = 100_000

function given(call: Call): FilterInput {
  const entries = FIELDS.map((field) => [field, call.option(optionOf(field))] as const)
  return Object.fromEntries(entries.filter(([, text]) => text !== null)) as FilterInput
}

function usageError(details: readonly Detail[]): UsageError {
  return new UsageError(
    details.map(({ path, message }) => `${path === '' ? '' : `--${optionOf(path)} `}${message}`).join('; '),
  )
}

export async function filterOf(call: Call, { db, clock }: Context): Promise<QueueFilter> {
  const read = await parseFilter(given(call), { db, nowMs: clock.now() })
  if (!read.ok) throw usageError(read.details)
  return read.filter
}

export async function stoppedOf(call: Call, { db }: Context): Promise<SuspensionTarget> {
  const read = await parseSuspendable({ ...given(call), ...(call.words.length === 0 ? {} : { domain: call.word(0) }) }, db)
  if (!read.ok) throw usageError(read.details)
  return read.stopped
}

export function limitOf(call: Call): number {
  const limit = Number(call.option('limit') ?? USUAL_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit takes a number from 1 to ${MAX_LIMIT}`)
  return limit
}

export function untilOf(call: Call): Date | null {
  const text = call.option('until')
  const until = text === null ? null : parseTime(text, 'UTC')
  if (text !== null && (until === null || until.getTime() <= Date.now()))
    throw new UsageError('--until takes a time to come: 2031-05-04T10:00:00Z')
  return until
}
