/**
 * Imports a list of addresses into the suppression list, in batches, at any length. Invalid addresses are reported and
 * skipped. Each batch is committed on its own: an interrupted import has done what it read, and repeating it adds
 * nothing twice.
 */
import type { Context } from '#src/context.ts'
import { parseAddress } from '#src/mail/address.ts'
import type { NewSuppression } from './cause.ts'
import type { ListRow } from './csv.ts'
import { suppress } from './suppress.ts'

export interface ImportReport {
  added: number
  strengthened: number
  unchanged: number
  /** Rows without a valid address. */
  invalid: number
  /** The first invalid rows. */
  readonly errors: { readonly line: number | null; readonly value: string; readonly message: string }[]
}

const BATCH = 1000
const MAX_ERRORS = 100
const MAX_VALUE_LENGTH = 100
export const MAX_REASON = 500

export async function importList(
  ctx: Pick<Context, 'db' | 'clock'>,
  to: { readonly workspaceId: string; readonly apiKeyId: string | null },
  rows: AsyncIterable<ListRow> | Iterable<ListRow>,
): Promise<ImportReport> {
  const report: ImportReport = { added: 0, strengthened: 0, unchanged: 0, invalid: 0, errors: [] }
  let batch: NewSuppression[] = []
  const flush = async (): Promise<void> => {
    const { added, strengthened, unchanged } = await suppress(ctx.db, batch, new Date(ctx.clock.now()))
    report.added += added
    report.strengthened += strengthened
    report.unchanged += unchanged
    batch = []
  }
  for await (const row of rows) {
    const parsed = row.kind === 'entry' ? parseAddress(row.entry.address) : { ok: false as const, reason: row.reason }
    if (!parsed.ok || row.kind === 'broken') addError(report, row, parsed.ok ? '' : parsed.reason)
    else batch.push({ ...to, ...row.entry, address: parsed.address.address, reason: cleanReason(row.entry.reason) })
    if (batch.length >= BATCH) await flush()
  }
  await flush()
  return report
}

function cleanReason(reason: string | null): string | null {
  return reason?.slice(0, MAX_REASON).replaceAll('\0', ' ') ?? null
}

function addError(report: ImportReport, row: ListRow, message: string): void {
  report.invalid++
  if (report.errors.length >= MAX_ERRORS) return
  if (row.kind === 'broken') report.errors.push({ line: null, value: '', message })
  else
    report.errors.push({
      line: row.line,
      value: row.entry.address.slice(0, MAX_VALUE_LENGTH).replaceAll(/\p{Cc}/gu, '?'),
      message,
    })
}
