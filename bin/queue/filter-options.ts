/** Reads the filters and limits of `mailstead queue` from its options. A UsageError names every invalid option. */
import { type CommandCall, UsageError } from '#bin/cli/call.ts'
import type { Context } from '#src/context.ts'
import type { QueueFilter } from '#src/messages/queue-view.ts'
import {
  FILTER_FIELDS,
  parseFilter,
  parseSuspendable,
  type FilterField,
  type FilterInput,
} from '#src/operator/filter.ts'
import type { Detail } from '#src/platform/errors.ts'
import { parseTime } from '#src/platform/time-input.ts'
import type { SuspensionTarget } from '#src/queue/suspensions.ts'

const optionOf = (field: string): string => field.replaceAll('_', '-')
const FIELDS = Object.keys(FILTER_FIELDS) as FilterField[]
export const FILTERS = FIELDS.map(optionOf)
export const FILTER_USAGE = FILTERS.map((name) => `[--${name} ${name[0]?.toUpperCase() ?? ''}]`).join(' ')
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100_000

function readInput(call: CommandCall): FilterInput {
  const entries = FIELDS.map((field) => [field, call.option(optionOf(field))] as const)
  return Object.fromEntries(entries.filter(([, text]) => text !== null)) as FilterInput
}

function usageError(details: readonly Detail[]): UsageError {
  return new UsageError(
    details.map(({ path, message }) => `${path === '' ? '' : `--${optionOf(path)} `}${message}`).join('; '),
  )
}

export async function readFilter(call: CommandCall, { db, clock }: Context): Promise<QueueFilter> {
  const read = await parseFilter(readInput(call), { db, nowMs: clock.now() })
  if (!read.ok) throw usageError(read.details)
  return read.filter
}

export async function readSuspensionTarget(call: CommandCall, { db }: Context): Promise<SuspensionTarget> {
  const read = await parseSuspendable(
    { ...readInput(call), ...(call.arguments.length === 0 ? {} : { domain: call.argument(0) }) },
    db,
  )
  if (!read.ok) throw usageError(read.details)
  return read.stopped
}

export function readLimit(call: CommandCall): number {
  const limit = Number(call.option('limit') ?? DEFAULT_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit must be a number from 1 to ${MAX_LIMIT}`)
  return limit
}

export function readUntil(call: CommandCall): Date | null {
  const text = call.option('until')
  const until = text === null ? null : parseTime(text, 'UTC')
  if (text !== null && (until === null || until.getTime() <= Date.now()))
    throw new UsageError('--until must be a time in the future, such as 2031-05-04T10:00:00Z')
  return until
}
