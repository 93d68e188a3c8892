/** The shape of a setting. The files of this folder hold one group of settings each; `schema.ts` joins them. */
import type { Reader } from './readers.ts'

export interface Setting<T> {
  /** Name of the environment variable. */
  readonly env: string
  readonly read: Reader<T>
  /** As written in the environment; null = none. */
  readonly default: string | null
  readonly unit?: string
  /** Markdown: what the setting does, and what applies while it is not set. */
  readonly description: string
  /** The page of docs/guides that explains the feature, without `.md`. */
  readonly guide?: string
}

/** A setting that always has a value. */
export function setting<T>(row: Setting<T> & { readonly default: string }): Setting<T> {
  return row
}

/** A setting that is null while it is not set. */
export function optional<T>(row: Omit<Setting<T>, 'default'>): Setting<T | null> {
  return { ...row, default: null }
}
