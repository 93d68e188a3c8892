/** The type of a check of `mailstead doctor`: it examines this installation and says what is wrong and what to do. */
import type { Config } from '#config/load.ts'
import type { Db } from '#src/stores/db.ts'

export interface DoctorFinding {
  /** `skipped`: not applicable, or unknown. Only `failed` makes the doctor exit with 1. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  /** What to do; empty if nothing is wrong. */
  readonly todo: string
}

/** What a check may use. */
export interface CheckContext {
  readonly config: Config
  /** Null if PostgreSQL is unreachable; `databaseError` says why. */
  readonly db: Db | null
  readonly databaseError: string
  /** Null if Redis is embedded and does not run now. */
  readonly redisUrl: string | null
}

export interface DoctorCheck {
  readonly name: string
  /** Timeout in milliseconds. */
  readonly withinMs?: number
  run(patient: CheckContext): Promise<DoctorFinding>
}

export function ok(detail: string): DoctorFinding {
  return { status: 'ok', detail, todo: '' }
}

export function warning(detail: string, todo: string): DoctorFinding {
  return { status: 'warning', detail, todo: todo }
}

export function failed(detail: string, todo: string): DoctorFinding {
  return { status: 'failed', detail, todo: todo }
}

export function skipped(detail: string): DoctorFinding {
  return { status: 'skipped', detail, todo: '' }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}
