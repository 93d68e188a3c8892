/** The type of a check of `mailstead doctor`: it examines this installation and says what is wrong and what to do. */
import type { Config } from '#config/load.ts'
import { type CheckFinding, createFinding, type Said } from '#src/platform/finding-text.ts'
import type { Db } from '#src/stores/db.ts'

/** `skipped`: not applicable, or unknown. Only `failed` makes the doctor exit with 1. */
export type DoctorFinding = CheckFinding<'ok' | 'warning' | 'failed' | 'skipped'>

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

export function ok(detail: Said, todo: Said = ''): DoctorFinding {
  return createFinding('ok', detail, todo)
}

export function warning(detail: Said, todo: Said): DoctorFinding {
  return createFinding('warning', detail, todo)
}

export function failed(detail: Said, todo: Said): DoctorFinding {
  return createFinding('failed', detail, todo)
}

export function skipped(detail: Said): DoctorFinding {
  return createFinding('skipped', detail)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}
