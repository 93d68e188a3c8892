/** Constructors for the steps of a dry run report. */
import type { DryRunStep } from '#src/operator/dry-runs.ts'

export function ok(step: string, says: string): DryRunStep {
  return { step, status: 'ok', says, todo: null }
}

export function warn(step: string, says: string, todo: string): DryRunStep {
  return { step, status: 'warn', says, todo }
}

export function fail(step: string, says: string, todo: string): DryRunStep {
  return { step, status: 'fail', says, todo }
}

export function skipped(step: string, says: string): DryRunStep {
  return { step, status: 'skipped', says, todo: null }
}
