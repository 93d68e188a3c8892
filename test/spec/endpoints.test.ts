/**
 * Every endpoint of the specification is in the route table, with its path, key type, success status and errors. The
 * rows are copied by hand, so that the route table is not compared with itself.
 */
import { assert } from 'chai'
import { listErrors } from '#api/openapi/error-responses.ts'
import { pathsOf, type Access, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from '#api/table.ts'
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'

interface Row {
  readonly section: string
  readonly access: Access
  readonly method: string
  /** The documented path first. */
  readonly paths: readonly string[]
  readonly status: number
  /** Besides those that every endpoint under a key has. */
  readonly errors: readonly ErrorCode[]
}

const READ: readonly ErrorCode[] = ['VALIDATION_ERROR']
const ONE: readonly ErrorCode[] = ['VALIDATION_ERROR', 'NOT_FOUND']
const SENDS: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'INVALID_TEMPLATE',
  'FORBIDDEN',
  'RATE_LIMITED',
  'IDEMPOTENCY_MISMATCH',
  'IDEMPOTENCY_IN_PROGRESS',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
]

type Line = readonly [
  method: string,
  paths: readonly string[],
  status: number,
  errors: readonly ErrorCode[],
  access?: Access,
]

/** One line for each endpoint of a section that has one kind of key. */
function section(name: string, access: Access, lines: readonly Line[]): Row[] {
  return lines.map(([method, paths, status, errors, own]) => ({
    section: name,
    access: own ?? access,
    method,
    paths,
    status,
    errors,
  }))
}

const audiences: Access = { admin: 'audiences:manage' }
const reads: Access = { admin: 'contacts:read' }
const writes: Access = { admin: 'contacts:write' }
const domains: Access = { admin: 'domains:manage' }
const automations: Access = { admin: 'automations:read' }
const changesAutomations: Access = { admin: 'automations:write' }
const triggers: Access = { admin: 'automations:trigger' }

const ROWS: readonly Row[] = [
  ...section('Sending', 'regular', [
    ['POST', ['/send-email/instant', '/public/send-email/instant'], 200, SENDS],
    ['POST', ['/send-email/high', '/public/send-email/high'], 200, SENDS],
    ['POST', ['/send-email/async', '/send-email/normal', '/send-email/queue', '/public/send-email/async'], 200, SENDS],
    ['POST', ['/send-email/bulk', '/public/send-email/bulk'], 200, SENDS],
    ['POST', ['/send-email/batch', '/public/send-email/batch'], 200, ['VALIDATION_ERROR', 'IDEMPOTENCY_MISMATCH']],
  ]),
  ...section('Scheduled sending', 'regular', [
    ['POST', ['/send-email/schedule', '/public/send-email/schedule'], 200, [...SENDS, 'PLAN_REQUIRED']],
    ['GET', ['/send-email/scheduled'], 200, READ],
    ['DELETE', ['/send-email/schedule/:id'], 200, ['NOT_FOUND', 'CONFLICT']],
  ]),
  ...section('Emails', 'any', [
    ['GET', ['/public/emails/get-email'], 200, ONE],
    ['GET', ['/public/emails'], 200, READ],
    ['GET', ['/integrations/verify'], 200, []],
  ]),
  ...section('Templates', 'any', [
    ['GET', ['/templates'], 200, READ],
    ['POST', ['/templates/save'], 200, READ],
  ]),
  ...section('Audiences', audiences, [
    ['GET', ['/public/audiences/get-audiences'], 200, READ],
    ['GET', ['/public/audiences/get-audience'], 200, ONE],
    ['POST', ['/public/audiences/add-audience'], 201, READ],
    ['DELETE', ['/public/audiences/delete-audience'], 204, ONE],
  ]),
  ...section('Contacts', reads, [
    ['GET', ['/public/contacts/get-contacts'], 200, ONE],
    ['GET', ['/public/contacts/get-contact'], 200, ONE],
    ['POST', ['/public/contacts/add-contact'], 201, ONE, writes],
    ['PATCH', ['/public/contacts/update-contact'], 200, ONE, writes],
    ['DELETE', ['/public/contacts/delete-contact'], 200, ONE, writes],
  ]),
  ...section('Public subscribe form', 'public', [
    ['GET', ['//s/:token'], 200, ['NOT_FOUND']],
    ['POST', ['//s/:token'], 200, ONE],
  ]),
  ...section('Domains', domains, [
    ['POST', ['/public/domains/add-domain'], 201, ['VALIDATION_ERROR', 'PLAN_REQUIRED', 'CONFLICT']],
    ['GET', ['/public/domains/get-domains'], 200, []],
    ['GET', ['/public/domains/domain-status/:domainID'], 200, ['NOT_FOUND']],
    ['POST', ['/public/domains/verify-domain/:domainID'], 200, ['NOT_FOUND']],
    ['POST', ['/public/domains/api-keys/create'], 201, ['VALIDATION_ERROR'], { admin: 'api-keys:create' }],
    ['DELETE', ['/public/domains/delete-domain/:id'], 200, ['NOT_FOUND']],
  ]),
  ...section('Automations', automations, [
    ['GET', ['/public/automations/get-automation/:id'], 200, ['NOT_FOUND']],
    ['GET', ['/public/automations/get-all'], 200, READ],
    ['DELETE', ['/public/automations/delete-automation/:id/subscribers'], 200, ONE, changesAutomations],
    ['POST', ['/public/automations/add-automation/:id/enroll'], 200, ONE, changesAutomations],
    ['POST', ['/public/automations/create'], 201, READ, changesAutomations],
    ['PATCH', ['/public/automations/update-automation/:id'], 200, ONE, changesAutomations],
    ['POST', ['/public/automations/events/track'], 200, READ, triggers],
  ]),
  ...section('Webhooks', { admin: 'webhooks:manage' }, [
    ['POST', ['/public/webhooks'], 201, READ],
    ['GET', ['/public/webhooks', '/public/webhooks/:id'], 200, ['NOT_FOUND']],
    ['PATCH', ['/public/webhooks', '/public/webhooks/:id'], 200, ONE],
    ['DELETE', ['/public/webhooks', '/public/webhooks/:id'], 204, ['NOT_FOUND']],
    ['GET', ['/public/events'], 200, READ, 'any'],
  ]),
  ...section('Suppressions', { admin: 'suppressions:manage' }, [
    ['GET', ['/public/suppressions'], 200, READ],
    ['POST', ['/public/suppressions'], 201, READ],
    ['DELETE', ['/public/suppressions'], 200, ONE],
  ]),
  ...section('For the operator', 'public', [
    ['GET', ['//healthz'], 200, []],
    ['GET', ['//readyz'], 200, []],
    ['GET', ['//metrics'], 200, []],
    ['GET', ['//openapi.json'], 200, []],
    ['GET', ['//docs'], 200, []],
  ]),
]

/** A path that begins with `//` stands at the root, others below /api/v1. */
const fullPath = (path: string): string => (path.startsWith('//') ? path.slice(1) : `/api/v1${path}`)
const withoutParameterNames = (path: string): string => path.replace(/:\w+/g, ':')

function find(method: string, path: string): AnyRoute | undefined {
  return ROUTES.find(
    (spec) =>
      spec.method === method &&
      pathsOf(spec).some((one) => withoutParameterNames(one) === withoutParameterNames(fullPath(path))),
  )
}

/** What every endpoint under a key may answer (Authentication, rules 1 to 3; Limits). */
function errorsOfAccess(access: Access): ErrorCode[] {
  if (access === 'public') return []
  const kind: ErrorCode[] = access === 'any' ? [] : ['FORBIDDEN']
  return [
    'UNAUTHORIZED',
    'RATE_LIMITED',
    ...kind,
    ...(typeof access === 'object' ? (['INSUFFICIENT_SCOPE'] as const) : []),
  ]
}

describe('specification: endpoints', () => {
  for (const { section: name, method, paths, access, status, errors } of ROWS) {
    for (const path of paths) {
      const key = typeof access === 'object' ? access.admin : access
      it(`${name}: ${method} ${path}, ${key}: ${status} or ${errors.join(', ') || 'no error'}`, () => {
        const spec = find(method, path)
        assert.ok(spec !== undefined, 'it is in the table')
        assert.deepEqual([spec.access, spec.status], [access, status])
        const codes = listErrors(spec)
        const expected: ErrorCode[] = [...errors, ...errorsOfAccess(access), 'INTERNAL_ERROR']
        for (const code of expected) assert.ok(codes.includes(code), `${code} is declared`)
      })
    }
  }
  it('needs the plan LAUNCH for scheduling, not for sending', () => {
    for (const path of ['/send-email/schedule', '/public/campaigns/:id/schedule'])
      assert.strictEqual(find('POST', path)?.needsLaunch, true)
    assert.strictEqual(find('POST', '/send-email/instant')?.needsLaunch, undefined)
  })
})

/** The table of errors; below it what the contract adds. */
const STATUSES: readonly (readonly [ErrorCode, number])[] = [
  ['VALIDATION_ERROR', 400],
  ['INVALID_TEMPLATE', 400],
  ['UNAUTHORIZED', 401],
  ['FORBIDDEN', 403],
  ['INSUFFICIENT_SCOPE', 403],
  ['PLAN_REQUIRED', 403],
  ['RATE_LIMITED', 429],
  ['INTERNAL_ERROR', 500],
  ['NOT_FOUND', 404],
  ['METHOD_NOT_ALLOWED', 405],
  ['CONFLICT', 409],
  ['IDEMPOTENCY_MISMATCH', 409],
  ['IDEMPOTENCY_IN_PROGRESS', 409],
  ['PAYLOAD_TOO_LARGE', 413],
  ['UNSUPPORTED_MEDIA_TYPE', 415],
  ['SERVICE_UNAVAILABLE', 503],
]

describe('specification: error codes', () => {
  for (const [code, status] of STATUSES)
    it(`${code} is ${status}`, () => assert.strictEqual(ERRORS[code].status, status))
})
