/**
 * Holds answers against the OpenAPI document: the status must be declared at the endpoint, an error must be one of its codes, and JSON
 * must fit its schema. Objects are closed here: a field that the document does not have is a mistake. It is made once per process.
 */
import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { assert } from 'chai'
import { listErrors } from '#api/openapi/error-responses.ts'
import { buildOpenApi } from '#api/openapi/openapi.ts'
import { pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from '#api/table.ts'
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'

export interface Observed {
  readonly method: string
  /** As asked for, with its query. */
  readonly path: string
  readonly status: number
  readonly type: string | null
  /** Parsed where it is JSON. */
  readonly body: unknown
}

type Node = Record<string, unknown>

interface Place {
  readonly spec: AnyRoute
  readonly path: string
  readonly pattern: RegExp
}

/** What may come before or instead of any endpoint. */
const ANYWHERE: readonly ErrorCode[] = [
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
]

const places: readonly Place[] = ROUTES.flatMap((spec) =>
  pathsOf(spec).map((path) => ({
    spec,
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}/?$`),
  })),
)
const validators = new Map<string, ValidateFunction>()
let ajv: Ajv2020 | null = null

/** @throws AssertionError that says what the document does not have. */
export function assertDescribed(observed: Observed): void {
  const { method, status, body } = observed
  const path = observed.path.replace(/[?#].*$/s, '')
  const place = placeOf(method, path)
  const told = `${method} ${path} answered ${status} ${JSON.stringify(body)?.slice(0, 2000)}`
  if (place === undefined) {
    if (status !== 204) assertError(body, status, ANYWHERE, told)
  } else if (isError(body)) {
    assertError(body, status, listErrors(place.spec), told)
  } else if (isRefusalPage(place.spec, observed)) {
    assert.ok(
      listErrors(place.spec).some((code) => ERRORS[code].status === status),
      `${told}: the endpoint has no such status`,
    )
  } else {
    assertSuccess(place, observed, told)
  }
}

/** A path with fixed words wins over one with parameters, as in the router: the table has the fixed ones first. */
function placeOf(method: string, path: string): Place | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method
  return places.find(({ spec, pattern }) => spec.method === wanted && pattern.test(path))
}

function isError(body: unknown): body is { error: ErrorCode } {
  return typeof body === 'object' && body !== null && 'success' in body && body.success === false
}

/** A refusal that is told to a person. */
function isRefusalPage(spec: AnyRoute, { status, type }: Observed): boolean {
  return spec.refusalPage !== undefined && status >= 400 && type?.startsWith('text/html') === true
}

function assertError(body: unknown, status: number, codes: readonly ErrorCode[], told: string): void {
  assert.ok(isError(body), `${told}: this is no error of ours`)
  assert.ok(codes.includes(body.error), `${told}: the endpoint has no ${body.error}`)
  assert.strictEqual(ERRORS[body.error].status, status, told)
  assertFits(validatorOf('#/components/schemas/ErrorBody'), body, told)
}

function assertSuccess({ spec, path }: Place, { status, type, body }: Observed, told: string): void {
  const answer = status === spec.status ? spec.response : spec.additionalResponses?.[status]?.schema
  assert.ok(status === spec.status || spec.additionalResponses?.[status] !== undefined, `${told}: the endpoint has no such status`)
  if (body === null || body === '') return
  const media = type?.split(';')[0]?.trim() ?? ''
  if (media !== 'application/json') assert.ok(spec.produces?.includes(media), `${told}: the endpoint has no ${media}`)
  else {
    assert.ok(answer !== undefined, `${told}: the endpoint has no schema for this answer`)
    const written = path.replace(/:(\w+)/g, '{$1}')
    const way = ['paths', written, spec.method.toLowerCase(), 'responses', String(status), 'content', media, 'schema']
    assertFits(validatorOf(pointerOf(way)), body, told)
  }
}

function assertFits(validate: ValidateFunction, body: unknown, told: string): void {
  if (!validate(body)) assert.fail(`${told}\nis not as the document says: ${JSON.stringify(validate.errors, null, 1)}`)
}

function validatorOf(pointer: string): ValidateFunction {
  const known = validators.get(pointer)
  if (known !== undefined) return known
  ajv ??= openDocument()
  const made = ajv.compile({ $ref: `openapi${pointer}` })
  validators.set(pointer, made)
  return made
}

function openDocument(): Ajv2020 {
  const opened = new Ajv2020({ strict: false, allErrors: false })
  addFormats.default(opened)
  opened.addSchema(close(buildOpenApi(ROUTES, 'http://localhost')) as Node, 'openapi')
  return opened
}

/** A JSON Pointer as part of an address (RFC 6901 §6). */
export function pointerOf(way: readonly string[]): string {
  return `#${way.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`
}

/** Every object that lists its fields has no others; one that says what others may be stays as it is. */
export function close(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(close)
  if (typeof node !== 'object' || node === null) return node
  const closed: Node = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, close(value)]))
  const listsFields = 'properties' in closed && closed['type'] === 'object' && !('additionalProperties' in closed)
  return listsFields ? { ...closed, additionalProperties: false } : closed
}
