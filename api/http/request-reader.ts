/**
 * Reads params, query and body of a request: parses the bytes of the body as JSON or as a form, validates all three
 * with the schemas of the route, and reports all problems together. NUL and invalid UTF-8 are refused here, for all
 * endpoints. Parsing is pure, so the event loop and the thread for large bodies (`api/large-bodies.ts`) give the same
 * result.
 */
import { isUtf8 } from 'node:buffer'
import type Koa from 'koa'
import type { core, ZodType } from 'zod'
import { invalid, type Detail, type Refusal } from '#src/platform/errors.ts'
import type { BodyReader } from './body-reader.ts'
import { readForm, readMultipart, type FormResult } from './form.ts'
import { readJson, type JsonResult } from './json.ts'
import type { AnyRoute, BodyKind } from './route.ts'

export interface RequestInputs {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

export type RequestReadResult =
  | { readonly ok: true; readonly inputs: RequestInputs }
  | { readonly ok: false; readonly refusal: Refusal; readonly body?: unknown }

/**
 * Without `details`, `value` is the output of the schema. If `isJson` is false, the body could not be parsed at all.
 */
export interface ParsedBody {
  readonly isJson: boolean
  readonly details: readonly Detail[]
  readonly value?: unknown
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

const JSON_ONLY = ['json'] as const

export interface BodyReaders {
  readonly readBody: BodyReader
  readonly largeBodies: LargeBodyReader
}

/** The handler reads the body. */
const STREAMED = { ok: true, value: undefined } as const

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
  const { kind, bytes, isLarge } = read
  if (isLarge && bytes !== null && spec.body !== undefined)
    return addBody(await largeBodies.read(spec.name, bytes), { params, query }, details)
  const given = bytes === null ? STREAMED : parseBytes(bytes, kind, koa.req.headers['content-type'])
  if (!given.ok) return { ok: false, refusal: invalid([{ path: '', message: given.reason }]) }
  const body = spec.body === undefined ? undefined : parseField(spec.body, given.value, details)
  return details.length > 0
    ? { ok: false, refusal: invalid(details), body: given.value }
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

/** `type` is the Content-Type. */
function parseBytes(bytes: Buffer, kind: BodyKind, type = ''): JsonResult | FormResult {
  if (!isUtf8(bytes)) return { ok: false, reason: 'the body is not valid UTF-8' }
  const text = bytes.toString('utf8')
  if (kind === 'form') return readForm(text)
  return kind === 'multipart' ? readMultipart(text, type) : readJson(text)
}

/** Parses and validates a JSON body. */
export function parseBody(schema: ZodType, bytes: Buffer): ParsedBody {
  const json = parseBytes(bytes, 'json')
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
