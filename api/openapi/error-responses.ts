/** The errors of an endpoint in the OpenAPI document: its own, and those that its access and schemas imply. */
import { ERRORS, invalid, refuse, type ErrorCode } from '#src/platform/errors.ts'
import { refusalBody } from '#api/http/response.ts'
import { headersOf, RATE_HEADERS } from './response-headers.ts'
import type { Json, SchemaRegistry } from './schemas.ts'
import { permissionOf } from '#api/http/route-permissions.ts'
import type { AnyRoute } from '#api/http/route.ts'
import { errorBody } from '#api/http/response-schemas.ts'

/** Every error that the endpoint may return. */
export function listErrors(spec: AnyRoute): ErrorCode[] {
  const { access } = spec
  const isKeyed = access !== 'public' && access !== 'operator'
  const isOpenToPeople = isKeyed && permissionOf(spec.name) !== null
  const hasBody = spec.body !== undefined || spec.accepts !== undefined
  const hasInput = spec.params !== undefined || spec.query !== undefined || hasBody
  const implied: readonly (readonly [boolean, readonly ErrorCode[]])[] = [
    [hasInput, ['VALIDATION_ERROR']],
    // of a session: the workspace that it names
    [isOpenToPeople, ['VALIDATION_ERROR', 'NOT_FOUND']],
    [access === 'operator', ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']],
    [isKeyed, ['UNAUTHORIZED', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']],
    // also of a key that is used outside its networks
    [isKeyed, ['FORBIDDEN']],
    [typeof access === 'object', ['INSUFFICIENT_SCOPE']],
    [spec.needsLaunch === true, ['PLAN_REQUIRED']],
    [hasBody, ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']],
    [true, spec.errors],
    [true, ['INTERNAL_ERROR']],
  ]
  return [...new Set(implied.flatMap(([applies, codes]) => (applies ? codes : [])))]
}

/** Errors with the same status share a response. A set of errors that several endpoints have becomes one component. */
export interface ErrorResponses {
  responsesOf(spec: AnyRoute): Json
  readonly components: Readonly<Record<string, Json>>
}

/** Responses without a valid key have no rate-limit headers. */
const WITHOUT_RATE: readonly ErrorCode[] = ['UNAUTHORIZED', 'INTERNAL_ERROR']
const WITH_RETRY_AFTER: readonly ErrorCode[] = ['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS']

export function createErrorResponses(schemas: SchemaRegistry): ErrorResponses {
  const components: Record<string, Json> = {}
  return {
    components,
    responsesOf: (spec) => {
      const byStatus = Map.groupBy(listErrors(spec), (code) => ERRORS[code].status)
      return Object.fromEntries(
        [...byStatus].map(([status, codes]) => {
          const sorted = codes.toSorted((a, b) => a.localeCompare(b))
          const isPage = spec.refusalPage !== undefined
          const name = `${sorted.map(pascalOf).join('Or')}${isPage ? 'Page' : ''}`
          components[name] ??= describeResponse(sorted, isPage, schemas)
          return [status, { $ref: `#/components/responses/${name}` }]
        }),
      )
    },
  }
}

function describeResponse(codes: readonly ErrorCode[], isPage: boolean, schemas: SchemaRegistry): Json {
  const rate = codes.some((code) => WITHOUT_RATE.includes(code)) ? [] : RATE_HEADERS
  const retry = codes.some((code) => WITH_RETRY_AFTER.includes(code)) ? (['Retry-After'] as const) : []
  return {
    description: codes.map((code) => `${code}: ${ERRORS[code].when}`).join('; '),
    headers: headersOf(['X-Request-Id', ...rate, ...retry]),
    content: {
      'application/json': {
        schema: schemas.refer(errorBody, 'output', 'ErrorBody'),
        examples: Object.fromEntries(codes.map((code) => [code, { summary: code, value: exampleOf(code) }])),
      },
      ...(isPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
    },
  }
}

function exampleOf(code: ErrorCode): Json {
  const source = { requestId: '019a9a00-0000-7000-8000-0000000000aa', publicUrl: 'https://mail.example.com' }
  if (code === 'VALIDATION_ERROR') return refusalBody(invalid([{ path: 'subject', message: 'is required' }]), source)
  const refusal = refuse(code, `${ERRORS[code].when}.`)
  return refusalBody(code === 'RATE_LIMITED' ? { ...refusal, reason: 'request_rate' } : refusal, source)
}

function pascalOf(code: ErrorCode): string {
  return code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}
