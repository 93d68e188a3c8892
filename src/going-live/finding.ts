/** What a check of going live found. `skipped`: it does not apply. `unknown`: DNS or the network did not answer. */
export interface LiveFinding {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped' | 'unknown'
  readonly detail: string
  /** What to do; empty if nothing is wrong. */
  readonly todo: string
}

export const ok = (detail: string): LiveFinding => ({ status: 'ok', detail, todo: '' })
export const warning = (detail: string, todo: string): LiveFinding => ({ status: 'warning', detail, todo })
export const failed = (detail: string, todo: string): LiveFinding => ({ status: 'failed', detail, todo })
export const skipped = (detail: string): LiveFinding => ({ status: 'skipped', detail, todo: '' })
export const unknown = (detail: string): LiveFinding => ({ status: 'unknown', detail, todo: '' })

/** The worst first. */
const STATUSES = ['failed', 'warning', 'unknown', 'ok', 'skipped'] as const satisfies readonly LiveFinding['status'][]

/** One finding for several, such as of all addresses: that of the worst status, with all details of that status. */
export function combineFindings(findings: readonly LiveFinding[]): LiveFinding {
  const status = STATUSES.find((candidate) => findings.some((finding) => finding.status === candidate)) ?? 'skipped'
  const worst = findings.filter((finding) => finding.status === status)
  return {
    status,
    detail: [...new Set(worst.map(({ detail }) => detail))].join('; '),
    todo: [...new Set(worst.map(({ todo }) => todo))].filter((todo) => todo !== '').join('; '),
  }
}
