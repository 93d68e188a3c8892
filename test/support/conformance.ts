/**
 * Validates responses against the OpenAPI document: the endpoint must declare the status, an error code must be one of
 * the endpoint's, and JSON must match the schema. Objects are closed: a field that the document does not describe is
 * an error. The document is built once per process.
 */
import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { assert } from 'chai'
import { listErrors } from '#api/openapi/error-responses.ts'
import { buildOpenApi } from '#api/openapi/openapi.ts'
import { pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from '#api/table.ts'
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'

export interface ObservedResponse {
  readonly method: string
  /** As asked for, with its query. */
  readonly path: string
  readonly status: number
  readonly type: string | null
  /** Parsed where it is JSON. */
  readonly body: unknown
}

type Node = Record<string, unknown>

interface DocumentedRoute {
  readonly spec: AnyRoute
  readonly path: string
  readonly pattern: RegExp
}

/** What may come before or instead of any endpoint. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
]

const routes: readonly DocumentedRoute[] = ROUTES.flatMap((spec) =>
  pathsOf(spec).map((path) => ({
    spec,
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}/?$`),
  })),
)
const validators = new Map<string, ValidateFunction>()
let ajv: Ajv2020 | null = null

/** @throws AssertionError that says what the document does not have. */
export function assertDocumented(observed: ObservedResponse): void {
  const { method, status, body } = observed
  const path = observed.path.replace(/[?#].*$/s, '')
  const route = findRoute(method, path)
  const context = `${method} ${path} answered ${status} ${JSON.stringify(body)?.slice(0, 2000)}`
  if (route === undefined) {
    if (status !== 204) assertError(body, status, COMMON_ERRORS, context)
  } else if (isError(body)) {
    assertError(body, status, listErrors(route.spec), context)
  } else if (isRefusalPage(route.spec, observed)) {
    assert.ok(
      listErrors(route.spec).some((code) => ERRORS[code].status === status),
      `${context}: the endpoint has no such status`,
    )
  } else {
    assertSuccess(route, observed, context)
  }
}

/** A path with fixed words wins over one with parameters, as in the router: the table has the fixed ones first. */
function findRoute(method: string, path: string): DocumentedRoute | undefined {
  const expected = method === 'HEAD' ? 'GET' : method
  return routes.find(({ spec, pattern }) => spec.method === expected && pattern.test(path))
}

function isError(body: unknown): body is { error: ErrorCode } {
  return typeof body === 'object' && body !== null && 'success' in body && body.success === false
}

/** A refusal that is shown to a person as an HTML page. */
function isRefusalPage(spec: AnyRoute, { status, type }: ObservedResponse): boolean {
  return spec.refusalPage !== undefined && status >= 400 && type?.startsWith('text/html') === true
}

function assertError(body: unknown, status: number, codes: readonly ErrorCode[], context: string): void {
  assert.ok(isError(body), `${context}: this is no error of ours`)
  assert.ok(codes.includes(body.error), `${context}: the endpoint has no ${body.error}`)
  assert.strictEqual(ERRORS[body.error].status, status, context)
  assertFits(validatorOf('#/components/schemas/ErrorBody'), body, context)
}

function assertSuccess(
  { spec, path }: DocumentedRoute,
  { status, type, body }: ObservedResponse,
  context: string,
): void {
  const answer = status === spec.status ? spec.response : spec.additionalResponses?.[status]?.schema
  assert.ok(
    status === spec.status || spec.additionalResponses?.[status] !== undefined,
    `${context}: the endpoint has no such status`,
  )
  if (body === null || body === '') return
  const media = type?.split(';')[0]?.trim() ?? ''
  if (media !== 'application/json')
    assert.ok(spec.produces?.includes(media), `${context}: the endpoint has no ${media}`)
  else {
    assert.ok(answer !== undefined, `${context}: the endpoint has no schema for this answer`)
    const template = path.replace(/:(\w+)/g, '{$1}')
    const keys = ['paths', template, spec.method.toLowerCase(), 'responses', String(status), 'content', media, 'schema']
    assertFits(validatorOf(pointerOf(keys)), body, context)
  }
}

function assertFits(validate: ValidateFunction, body: unknown, context: string): void {
  if (!validate(body))
    assert.fail(`${context}\nis not as the document says: ${JSON.stringify(validate.errors, null, 1)}`)
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
  opened.addSchema(closeObjects(buildOpenApi(ROUTES, 'http://localhost')) as Node, 'openapi')
  return opened
}

/** A JSON Pointer as part of an address (RFC 6901 §6). */
export function pointerOf(keys: readonly string[]): string {
  return `#${keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`
}

/** Every object that lists its fields has no others; one that says what others may be stays as it is. */
export function closeObjects(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closeObjects)
  if (typeof node !== 'object' || node === null) return node
  const closed: Node = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closeObjects(value)]))
  const listsFields = 'properties' in closed && closed['type'] === 'object' && !('additionalProperties' in closed)
  return listsFields ? { ...closed, additionalProperties: false } : closed
}
