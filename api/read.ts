/**
 * From what came in to what a handler takes: params, query and body through the route's schemas. All that is wrong is told at once.
 * A NUL or broken UTF-8 in the address is refused here, so that no endpoint has to think of it.
 */
import type Koa from 'koa'
import type { core, ZodType } from 'zod'
import { invalid, type Detail, type Refusal } from '#src/errors.ts'
import type { BodyReader } from './body.ts'
import type { AnyRoute } from './route.ts'

export interface Inputs {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

export type ReadResult = { readonly ok: true; readonly inputs: Inputs } | { readonly ok: false; readonly refusal: Refusal; readonly body?: unknown }

const JSON_ONLY = ['json'] as const

export async function readInputs(
  spec: AnyRoute,
  koa: Koa.Context & { params: Record<string, string> },
  readBody: BodyReader,
): Promise<ReadResult> {
  const details: Detail[] = []
  const params = spec.params === undefined ? undefined : check(spec.params, cleaned(koa.params, details), details)
  const query = spec.query === undefined ? undefined : check(spec.query, cleaned(koa.query, details), details)
  if (spec.body === undefined && spec.accepts === undefined)
    return details.length > 0 ? { ok: false, refusal: invalid(details) } : { ok: true, inputs: { params, query, body: undefined } }
  const read = await readBody(koa, { kinds: spec.accepts ?? JSON_ONLY, isFromAnybody: spec.access === 'public' })
  if (!read.ok) return read
  const body = spec.body === undefined ? undefined : check(spec.body, read.value, details)
  return details.length > 0 ? { ok: false, refusal: invalid(details), body: read.value } : { ok: true, inputs: { params, query, body } }
}

/** U+FFFD stands where the percent-encoding was not UTF-8. */
const UNCLEAN = /[\0\uFFFD]/

function cleaned(values: Readonly<Record<string, string | string[] | undefined>>, details: Detail[]): unknown {
  for (const [name, value] of Object.entries(values))
    if (UNCLEAN.test(String(value)))
      details.push({ path: name.replace(/[^\w.-]/g, '?').slice(0, 100), message: 'has characters that no text may have' })
  return values
}

function check(schema: ZodType, value: unknown, details: Detail[]): unknown {
  const result = schema.safeParse(value, EXPLAINED)
  if (!result.success) details.push(...result.error.issues.map(detailOf))
  return result.data
}

const EXPLAINED: core.ParseContext<core.$ZodIssue> = { error: (issue) => (issue.input === undefined ? 'is required' : undefined) }

/** One issue as our API tells it. */
function detailOf(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): Detail {
  return { path: issue.path.map(String).join('.').slice(0, 200), message: issue.message }
}

/** Runs a schema inside another's handler: a message of a batch, a nested form. */
export function readPart<T>(
  schema: ZodType<T>,
  value: unknown,
): { readonly ok: true; readonly value: T } | { readonly ok: false; readonly details: readonly Detail[] } {
  const result = schema.safeParse(value, EXPLAINED)
  return result.success ? { ok: true, value: result.data } : { ok: false, details: result.error.issues.map(detailOf) }
}
