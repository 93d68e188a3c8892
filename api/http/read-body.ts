/** From the bytes of a JSON body to what a handler takes: UTF-8, JSON, schema. Pure, so that it is the same in any thread. */
import { isUtf8 } from 'node:buffer'
import type { core, ZodType } from 'zod'
import type { Detail, Refusal } from '#src/platform/errors.ts'
import { readJson } from './json.ts'

/** `isJson` false: it cannot be read at all, and nothing else needs to be said. No details: `value` is what the schema made of it. */
export interface ReadBody {
  readonly isJson: boolean
  readonly details: readonly Detail[]
  readonly value?: unknown
}

export function readBodyOf(schema: ZodType, bytes: Buffer): ReadBody {
  const json = isUtf8(bytes)
    ? readJson(bytes.toString('utf8'))
    : { ok: false as const, reason: 'the body is not valid UTF-8' }
  if (!json.ok) return { isJson: false, details: [{ path: '', message: json.reason }] }
  const read = readPart(schema, json.value)
  return read.ok ? { isJson: true, details: [], value: read.value } : { isJson: true, details: read.details }
}

export type Part<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Runs a schema: on a whole body, or inside another's for a message of a batch, a nested form. */
export function readPart<T>(schema: ZodType<T>, value: unknown): Part<T> {
  const result = schema.safeParse(value, EXPLAINED)
  return result.success ? { ok: true, value: result.data } : { ok: false, details: result.error.issues.map(detailOf) }
}

const EXPLAINED: core.ParseContext<core.$ZodIssue> = {
  error: (issue) => (issue.input === undefined ? 'is required' : undefined),
}

/** One issue as our API tells it. */
function detailOf(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): Detail {
  return { path: issue.path.map(String).join('.').slice(0, 200), message: issue.message }
}

export type LargeBody =
  | { readonly ok: true; readonly read: ReadBody }
  | { readonly ok: false; readonly refusal: Refusal }

export interface LargeBodies {
  /** Reads a JSON body for the route of that name. The bytes are gone afterwards. */
  read(route: string, bytes: Buffer): Promise<LargeBody>
  stop(): Promise<void>
}
