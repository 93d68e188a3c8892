/** The OpenAPI 3.1 description, made from the table of routes: paths, schemas as clients may write them, statuses, errors, security. */
import { z, type ZodType } from 'zod'
import { ERRORS, type ErrorCode } from '#src/errors.ts'
import { pathsOf, type AnyRoute } from './route.ts'

type Json = Record<string, unknown>

const SECURITY = {
  securitySchemes: {
    key: { type: 'http', scheme: 'bearer', description: 'An API key: <prefix>_<workspace>.live_<secret> or .adm_<secret>' },
  },
}
const ERROR_SCHEMA = {
  type: 'object',
  required: ['success', 'error', 'message'],
  properties: {
    success: { const: false },
    error: { type: 'string', enum: Object.keys(ERRORS) },
    message: { type: 'string' },
    details: {
      type: 'array',
      items: { type: 'object', required: ['path', 'message'], properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

export function describe(routes: readonly AnyRoute[], publicUrl: string): Json {
  const paths: Record<string, Json> = {}
  for (const spec of routes) {
    for (const [i, path] of pathsOf(spec).entries()) {
      const written = path.replace(/:(\w+)/g, '{$1}')
      paths[written] = { ...paths[written], [spec.method.toLowerCase()]: describeRoute(spec, i) }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Mailstead', version: 'v1', description: 'Send mail, see what became of it.' },
    servers: [{ url: publicUrl }],
    paths,
    components: { ...SECURITY, schemas: { Error: ERROR_SCHEMA } },
  }
}

/** `nth` path of the route: the first is the documented one, the others are aliases. */
function describeRoute(spec: AnyRoute, nth: number): Json {
  return {
    operationId: nth === 0 ? spec.name : `${spec.name}-${nth + 1}`,
    summary: spec.summary,
    ...(nth === 0 ? {} : { description: `Alias of ${pathsOf(spec)[0]}.`, deprecated: true }),
    security: spec.access === 'public' ? [] : [{ key: [] }],
    parameters: [...parametersOf(spec.params, 'path'), ...parametersOf(spec.query, 'query')],
    ...(spec.body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(spec.body) } } } }),
    responses: { [spec.status]: { description: 'success' }, ...refusalsOf(spec) },
  }
}

function schemaOf(schema: ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json
}

function parametersOf(schema: ZodType | undefined, place: 'path' | 'query'): Json[] {
  if (schema === undefined) return []
  const { properties, required } = schemaOf(schema) as { properties?: Record<string, Json>; required?: string[] }
  return Object.entries(properties ?? {}).map(([name, json]) => ({
    name,
    in: place,
    required: place === 'path' || required?.includes(name) === true,
    schema: json,
  }))
}

/** What the endpoint may answer besides success: its own errors, and those that its access and schemas bring. */
export function errorsOf(spec: AnyRoute): ErrorCode[] {
  const keyed: ErrorCode[] = spec.access === 'public' ? [] : ['UNAUTHORIZED', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']
  const bound: ErrorCode[] = spec.access === 'public' || spec.access === 'any' ? [] : ['FORBIDDEN']
  const scoped: ErrorCode[] = typeof spec.access === 'object' ? ['INSUFFICIENT_SCOPE'] : []
  const read: ErrorCode[] = spec.params !== undefined || spec.query !== undefined || spec.body !== undefined ? ['VALIDATION_ERROR'] : []
  const bodied: ErrorCode[] = spec.body === undefined && spec.accepts === undefined ? [] : ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']
  return [
    ...new Set<ErrorCode>([
      ...read,
      ...keyed,
      ...bound,
      ...scoped,
      ...(spec.needsLaunch === true ? ['PLAN_REQUIRED' as const] : []),
      ...bodied,
      ...spec.errors,
      'INTERNAL_ERROR',
    ]),
  ]
}

function refusalsOf(spec: AnyRoute): Json {
  const byStatus: Record<string, string[]> = {}
  for (const code of errorsOf(spec)) (byStatus[ERRORS[code].status] ??= []).push(`${code}: ${ERRORS[code].when}`)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, lines]) => [
      status,
      {
        description: lines.join('; '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}
