/**
 * From what came in to what a handler takes: params, query and body through the route's schemas. All that is wrong is told at once.
 * A NUL or broken UTF-8 in the address is refused here, so that no endpoint has to think of it.
 */
import type Koa from 'koa'
import type { ZodType } from 'zod'
import { invalid, type Detail, type Refusal } from '#src/platform/errors.ts'
import type { BodyReader } from './body.ts'
import { readPart, type LargeBodies, type LargeBody } from './read-body.ts'
import type { AnyRoute } from './route.ts'

export interface Inputs {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

export type ReadResult =
  | { readonly ok: true; readonly inputs: Inputs }
  | { readonly ok: false; readonly refusal: Refusal; readonly body?: unknown }

const JSON_ONLY = ['json'] as const

export interface Readers {
  readonly readBody: BodyReader
  readonly largeBodies: LargeBodies
}

export async function readInputs(
  spec: AnyRoute,
  koa: Koa.Context & { params: Record<string, string> },
  { readBody, largeBodies }: Readers,
): Promise<ReadResult> {
  const details: Detail[] = []
  const params = spec.params === undefined ? undefined : check(spec.params, cleaned(koa.params, details), details)
  const query = spec.query === undefined ? undefined : check(spec.query, cleaned(koa.query, details), details)
  if (spec.body === undefined && spec.accepts === undefined)
    return details.length > 0
      ? { ok: false, refusal: invalid(details) }
      : { ok: true, inputs: { params, query, body: undefined } }
  const read = await readBody(koa, { kinds: spec.accepts ?? JSON_ONLY, isFromAnybody: spec.access === 'public' })
  if (!read.ok) return read
  if ('large' in read && spec.body !== undefined)
    return addBody(await largeBodies.read(spec.name, read.large), { params, query }, details)
  const given = 'value' in read ? read.value : undefined
  const body = spec.body === undefined ? undefined : check(spec.body, given, details)
  return details.length > 0
    ? { ok: false, refusal: invalid(details), body: given }
    : { ok: true, inputs: { params, query, body } }
}

/** What a large body says beside what the address said; of one that is no JSON at all nothing else is told. */
function addBody(large: LargeBody, inputs: Omit<Inputs, 'body'>, details: readonly Detail[]): ReadResult {
  if (!large.ok) return large
  const { isJson, value, details: wrong } = large.read
  const all = isJson ? [...details, ...wrong] : wrong
  return all.length > 0 ? { ok: false, refusal: invalid(all) } : { ok: true, inputs: { ...inputs, body: value } }
}

/** U+FFFD stands where the percent-encoding was not UTF-8. */
const UNCLEAN = /[\0\uFFFD]/

function cleaned(values: Readonly<Record<string, string | string[] | undefined>>, details: Detail[]): unknown {
  for (const [name, value] of Object.entries(values))
    if (UNCLEAN.test(String(value)))
      details.push({
        path: name.replace(/[^\w.-]/g, '?').slice(0, 100),
        message: 'has characters that no text may have',
      })
  return values
}

function check(schema: ZodType, value: unknown, details: Detail[]): unknown {
  const read = readPart(schema, value)
  if (read.ok) return read.value
  details.push(...read.details)
  return undefined
}
