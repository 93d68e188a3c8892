/** What a check of the doctor is: a question about this installation, answered by a finding and, where it is not well, what to do. */
import type { Config } from '#config/load.ts'
import type { Db } from '#src/stores/db.ts'

export interface Finding {
  /** `skipped`: it does not matter here, or cannot be told. Only `failed` makes the doctor fail. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  /** What to do; empty where all is well. */
  readonly todo: string
}

/** What a check may look at. */
export interface Patient {
  readonly config: Config
  /** Null when PostgreSQL cannot be reached; `trouble` says why. */
  readonly db: Db | null
  readonly trouble: string
  /** Null when it is ours and does not run now. */
  readonly redisUrl: string | null
}

export interface Check {
  readonly name: string
  /** Milliseconds until it is given up. */
  readonly withinMs?: number
  look(patient: Patient): Promise<Finding>
}

export function ok(detail: string): Finding {
  return { status: 'ok', detail, todo: '' }
}

export function warning(detail: string, todo: string): Finding {
  return { status: 'warning', detail, todo }
}

export function failed(detail: string, todo: string): Finding {
  return { status: 'failed', detail, todo }
}

export function skipped(detail: string): Finding {
  return { status: 'skipped', detail, todo: '' }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}
