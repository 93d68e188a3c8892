/** Parses a JSON body: UTF-8, JSON, zod schema. Pure, so the event loop and the thread give the same result. */
import { isUtf8 } from 'node:buffer'
import type { core, ZodType } from 'zod'
import type { Detail, Refusal } from '#src/platform/errors.ts'
import { readJson } from './json.ts'

/**
 * Without `details`, `value` is the output of the schema. If `isJson` is false, the body could not be parsed at all.
 */
export interface ParsedBody {
  readonly isJson: boolean
  readonly details: readonly Detail[]
  readonly value?: unknown
}

export function parseBody(schema: ZodType, bytes: Buffer): ParsedBody {
  const json = isUtf8(bytes)
    ? readJson(bytes.toString('utf8'))
    : { ok: false as const, reason: 'the body is not valid UTF-8' }
  if (!json.ok) return { isJson: false, details: [{ path: '', message: json.reason }] }
  const read = parseWith(schema, json.value)
  return read.ok ? { isJson: true, details: [], value: read.value } : { isJson: true, details: read.details }
}

export type SchemaResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Validates with a schema: a whole body, or a part of one such as a message of a batch. */
export function parseWith<T>(schema: ZodType<T>, value: unknown): SchemaResult<T> {
  const result = schema.safeParse(value, ERROR_TEXTS)
  return result.success ? { ok: true, value: result.data } : { ok: false, details: result.error.issues.map(detailOf) }
}

const ERROR_TEXTS: core.ParseContext<core.$ZodIssue> = {
  error: (issue) => (issue.input === undefined ? 'is required' : undefined),
}

/** A zod issue as an entry of `details`. */
function detailOf(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): Detail {
  return { path: issue.path.map(String).join('.').slice(0, 200), message: issue.message }
}

export type LargeBodyResult =
  | { readonly ok: true; readonly parsed: ParsedBody }
  | { readonly ok: false; readonly refusal: Refusal }

export interface LargeBodyReader {
  /**
   * Parses a JSON body for the named route. The buffer is unusable afterwards, since its memory moves to the thread.
   */
  read(route: string, bytes: Buffer): Promise<LargeBodyResult>
  stop(): Promise<void>
}
