/** What a check of going live found. `skipped`: it does not apply. `unknown`: DNS or the network did not answer. */
import { type CheckFinding, createFinding, detailOf, joinSaid, type Said, todoOf } from '#src/platform/finding-text.ts'

export type LiveFinding = CheckFinding<'ok' | 'warning' | 'failed' | 'skipped' | 'unknown'>

export const ok = (detail: Said): LiveFinding => createFinding('ok', detail)
export const warning = (detail: Said, todo: Said): LiveFinding => createFinding('warning', detail, todo)
export const failed = (detail: Said, todo: Said): LiveFinding => createFinding('failed', detail, todo)
export const skipped = (detail: Said): LiveFinding => createFinding('skipped', detail)
export const unknown = (detail: Said): LiveFinding => createFinding('unknown', detail)

/** The worst first. */
const STATUSES = ['failed', 'warning', 'unknown', 'ok', 'skipped'] as const satisfies readonly LiveFinding['status'][]

/** One finding for several, such as of all addresses: that of the worst status, with all details of that status. */
export function combineFindings(findings: readonly LiveFinding[]): LiveFinding {
  const status = STATUSES.find((candidate) => findings.some((finding) => finding.status === candidate)) ?? 'skipped'
  const worst = findings.filter((finding) => finding.status === status)
  return createFinding(status, joinSaid(worst.map(detailOf)), joinSaid(worst.map(todoOf)))
}
