/**
 * Reads params, query and body of a request: parses the bytes of the body as JSON or as a form, validates all three
 * with the schemas of the route, and reports all problems together. NUL and invalid UTF-8 are refused here, for all
 * endpoints. Parsing is pure, so the event loop and the thread for large bodies (`api/large-bodies.ts`) give the same
 * result.
 */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type Koa from 'koa'
import type { ZodType } from 'zod'
import { invalid, type Detail, type Refusal } from '#src/platform/errors.ts'
import type { BodyReader } from './body-reader.ts'
import { readForm, readMultipart, type FormResult } from './form.ts'
import { readJson, type JsonResult } from './json.ts'
import type { AnyRoute, BodyKind } from './route.ts'
import { isStrict } from './preferences.ts'
import { findUnknownFields } from './unknown-fields.ts'
import { SCHEMA_TEXTS } from '#src/platform/schema-texts.ts'

export interface RequestInputs {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  /** The body, if the handler reads it. */
  readonly bodyStream: Readable
}

export type RequestReadResult = ReadInputs & {
  /** Unknown fields of the query and the body. */
  readonly warnings: readonly Detail[]
}

type ReadInputs =
  | { readonly ok: true; readonly inputs: RequestInputs }
  | { readonly ok: false; readonly refusal: Refusal; readonly body?: unknown }

/**
 * Without `details`, `value` is the output of the schema. If `isJson` is false, the body could not be parsed at all.
 */
export interface ParsedBody {
  readonly isJson: boolean
  readonly details: readonly Detail[]
  readonly unknownFields: readonly Detail[]
  readonly value?: unknown
}

export type LargeBodyResult =
  | { readonly ok: true; readonly parsed: ParsedBody }
  | { readonly ok: false; readonly refusal: Refusal }

export interface LargeBodyReader {
  /**
   * Parses a body for the named route. The buffer is unusable afterwards, since its memory moves to the thread. A body
   * that `isAbandoned` when its turn comes is not parsed.
   */
  read(route: string, bytes: Buffer, kind: BodyKind, isAbandoned?: () => boolean): Promise<LargeBodyResult>
  stop(): Promise<void>
}

const JSON_ONLY = ['json'] as const

export interface BodyReaders {
  readonly readBody: BodyReader
  readonly largeBodies: LargeBodyReader
}

/** The handler reads the body. */
const STREAMED = { ok: true, value: undefined } as const

/** What is wrong with a request so far, and which of its fields are unknown. */
interface Findings {
  readonly details: Detail[]
  readonly unknownFields: Detail[]
}

type RequestContext = Koa.Context & { params: Record<string, string> }

/** Requests of programs with a key are checked for unknown fields. In a strict request these are errors. */
export async function readInputs(
  spec: AnyRoute,
  koa: RequestContext,
  readers: BodyReaders,
): Promise<RequestReadResult> {
  const findings: Findings = { details: [], unknownFields: [] }
  const read = await readChecked(spec, koa, readers, findings)
  const warnings = spec.access === 'public' ? [] : findings.unknownFields
  if (!read.ok || warnings.length === 0 || !isStrict(koa.req.headers)) return { ...read, warnings }
  return { ok: false, refusal: invalid(warnings), body: read.inputs.body, warnings: [] }
}

async function readChecked(
  spec: AnyRoute,
  koa: RequestContext,
  { readBody, largeBodies }: BodyReaders,
  findings: Findings,
): Promise<ReadInputs> {
  const { details } = findings
  const params =
    spec.params === undefined ? undefined : parseField(spec.params, checkCharacters(koa.params, details), details)
  const query =
    spec.query === undefined ? undefined : parseField(spec.query, checkCharacters(koa.query, details), details)
  if (spec.query !== undefined) findings.unknownFields.push(...findUnknownFields(spec.query, koa.query))
  if (spec.body === undefined && spec.accepts === undefined)
    return details.length > 0
      ? { ok: false, refusal: invalid(details) }
      : { ok: true, inputs: { params, query, body: undefined, bodyStream: koa.req } }
  const read = await readBody(koa, { kinds: spec.accepts ?? JSON_ONLY, isUnauthenticated: spec.access === 'public' })
  if (!read.ok) return read
  const { kind, bytes, isLarge, memory, stream: bodyStream } = read
  if (isLarge && bytes !== null && spec.body !== undefined) {
    const parsing = largeBodies.read(spec.name, bytes, kind, () => memory.isClosed())
    return addBody(await memory.keepFor(parsing), { params, query, bodyStream }, findings)
  }
  const given = bytes === null ? STREAMED : parseBytes(bytes, kind, koa.req.headers['content-type'])
  if (!given.ok) return { ok: false, refusal: invalid([{ path: '', message: given.reason }]) }
  const body = spec.body === undefined ? undefined : parseField(spec.body, given.value, details)
  if (spec.body !== undefined) findings.unknownFields.push(...findUnknownFields(spec.body, given.value))
  return details.length > 0
    ? { ok: false, refusal: invalid(details), body: given.value }
    : { ok: true, inputs: { params, query, body, bodyStream } }
}

/** Adds the result of a large body to that of the URL. If the body is not JSON, only that is reported. */
function addBody(result: LargeBodyResult, inputs: Omit<RequestInputs, 'body'>, findings: Findings): ReadInputs {
  if (!result.ok) return result
  const { isJson, value, details: bodyDetails, unknownFields } = result.parsed
  findings.unknownFields.push(...unknownFields)
  const all = isJson ? [...findings.details, ...bodyDetails] : bodyDetails
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
  if (kind === 'message') return { ok: true, value: { raw: bytes } }
  if (!isUtf8(bytes)) return { ok: false, reason: 'the body is not valid UTF-8' }
  const text = bytes.toString('utf8')
  if (kind === 'form') return readForm(text)
  return kind === 'multipart' ? readMultipart(text, type) : readJson(text)
}

/** Parses and validates JSON or a message. */
export function parseBody(schema: ZodType, bytes: Buffer, kind: BodyKind): ParsedBody {
  const json = parseBytes(bytes, kind)
  if (!json.ok) return { isJson: false, details: [{ path: '', message: json.reason }], unknownFields: [] }
  const read = parseWith(schema, json.value)
  const unknownFields = findUnknownFields(schema, json.value)
  return read.ok
    ? { isJson: true, details: [], unknownFields, value: read.value }
    : { isJson: true, details: read.details, unknownFields }
}

export type SchemaResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Validates with a schema: a whole body, or a part of one such as a message of a batch. */
export function parseWith<T>(schema: ZodType<T>, value: unknown): SchemaResult<T> {
  const result = schema.safeParse(value, SCHEMA_TEXTS)
  if (result.success) return { ok: true, value: result.data }
  return { ok: false, details: result.error.issues.slice(0, MAX_ISSUES).map(detailOf) }
}

/** A response shows fewer, and a body may have one for each of its values. */
const MAX_ISSUES = 100

/** A zod issue as an entry of `details`. */
function detailOf(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): Detail {
  return { path: issue.path.map(String).join('.').slice(0, 200), message: issue.message }
}
