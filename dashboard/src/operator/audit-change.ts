/** An entry of the audit log as two texts to compare: one line for each field, in the same order on both sides. */
import type { AuditEntry } from '#dashboard/src/api/endpoints.ts'

export interface ChangeTexts {
  readonly before: string
  readonly after: string
}

export function changeTexts({ before, after }: Pick<AuditEntry, 'before' | 'after'>): ChangeTexts {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].toSorted()
  return { before: linesOf(before, fields), after: linesOf(after, fields) }
}

function linesOf(values: Readonly<Record<string, unknown>> | null, fields: readonly string[]): string {
  if (values === null) return ''
  return fields
    .filter((field) => Object.hasOwn(values, field))
    .map((field) => `${field}: ${textOf(values[field])}`)
    .join('\n')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
