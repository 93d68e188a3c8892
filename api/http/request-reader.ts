/**
 * Validates params, query and body of a request with the schemas of its route, and reports all problems together. NUL
 * and invalid UTF-8 in the URL are refused here, for all endpoints.
 */
import type Koa from 'koa'
import type { ZodType } from 'zod'
import { invalid, type Detail, type Refusal } from '#src/platform/errors.ts'
import type { BodyReader } from './body-reader.ts'
import { parseWith, type LargeBodyReader, type LargeBodyResult } from './parse-body.ts'
import type { AnyRoute } from './route.ts'

export interface RequestInputs {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

export type RequestReadResult =
  | { readonly ok: true; readonly inputs: RequestInputs }
  | { readonly ok: false; readonly refusal: Refusal; readonly body?: unknown }

const JSON_ONLY = ['json'] as const

export interface BodyReaders {
  readonly readBody: BodyReader
  readonly largeBodies: LargeBodyReader
}

export async function readInputs(
  spec: AnyRoute,
  koa: Koa.Context & { params: Record<string, string> },
  { readBody, largeBodies }: BodyReaders,
): Promise<RequestReadResult> {
  const details: Detail[] = []
  const params =
    spec.params === undefined ? undefined : parseField(spec.params, checkCharacters(koa.params, details), details)
  const query =
    spec.query === undefined ? undefined : parseField(spec.query, checkCharacters(koa.query, details), details)
  if (spec.body === undefined && spec.accepts === undefined)
    return details.length > 0
      ? { ok: false, refusal: invalid(details) }
      : { ok: true, inputs: { params, query, body: undefined } }
  const read = await readBody(koa, { kinds: spec.accepts ?? JSON_ONLY, isUnauthenticated: spec.access === 'public' })
  if (!read.ok) return read
  if ('large' in read && spec.body !== undefined)
    return addBody(await largeBodies.read(spec.name, read.large), { params, query }, details)
  const given = 'value' in read ? read.value : undefined
  const body = spec.body === undefined ? undefined : parseField(spec.body, given, details)
  return details.length > 0
    ? { ok: false, refusal: invalid(details), body: given }
    : { ok: true, inputs: { params, query, body } }
}

/** Adds the result of a large body to that of the URL. If the body is not JSON, only that is reported. */
function addBody(
  result: LargeBodyResult,
  inputs: Omit<RequestInputs, 'body'>,
  details: readonly Detail[],
): RequestReadResult {
  if (!result.ok) return result
  const { isJson, value, details: bodyDetails } = result.parsed
  const all = isJson ? [...details, ...bodyDetails] : bodyDetails
  return all.length > 0 ? { ok: false, refusal: invalid(all) } : { ok: true, inputs: { ...inputs, body: value } }
}

/** The decoder writes U+FFFD for percent-encoded bytes that are not UTF-8. */
const INVALID_CHARACTERS = /[\0\uFFFD]/

function checkCharacters(values: Readonly<Record<string, string | string[] | undefined>>, details: Detail[]): unknown {
  for (const [name, value] of Object.entries(values))
    if (INVALID_CHARACTERS.test(String(value)))
      details.push({
        path: name.replace(/[^\w.-]/g, '?').slice(0, 100),
        message: 'contains characters that cannot be stored',
      })
  return values
}

function parseField(schema: ZodType, value: unknown, details: Detail[]): unknown {
  const read = parseWith(schema, value)
  if (read.ok) return read.value
  details.push(...read.details)
  return undefined
}
