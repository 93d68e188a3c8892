/** Fields of contacts that are accepted and refused, and the calls of /public/contacts. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { listOf, textOf, type Json, type Tenant, type TestApi, type TestResponse } from '#test/support/api.ts'

export type Fields = Readonly<Record<string, unknown>>

export const BASE = '/public/contacts'
const byText = (a: string, b: string): number => (a < b ? -1 : 1)

/** A contact with all fields. */
export const FULL = {
  first_name: 'Ann',
  last_name: 'Lee',
  company_name: 'Acme',
  job_title: 'CTO',
  phone_number: '+1 555',
  linkedin: 'https://linkedin.example/in/ann',
  timezone: 'Europe/Berlin',
  tags: 'a|b',
  custom_attributes: { plan: 'pro', seats: 5, nested: { deep: [1] } },
}

/** Fields of POST /add-contact, and what GET /get-contact then returns. */
export const ACCEPTED: readonly (readonly [string, Fields, Fields])[] = [
  [
    'both styles of names',
    {
      firstName: 'Ann',
      lastName: 'Lee',
      companyName: 'C',
      jobTitle: 'J',
      phoneNumber: '1',
      customAttributes: { a: 1 },
    },
    {
      firstName: 'Ann',
      lastName: 'Lee',
      companyName: 'C',
      jobTitle: 'J',
      phoneNumber: '1',
      customAttributes: { a: 1 },
    },
  ],
  ['name, split', { name: ' Ann  van der Lee ' }, { firstName: 'Ann', lastName: 'van der Lee' }],
  ['name of one word', { name: 'Ann' }, { firstName: 'Ann', lastName: null }],
  ['name next to first_name', { name: 'Ann Lee', first_name: 'Bea' }, { firstName: 'Bea', lastName: 'Lee' }],
  ['tags with |', { tags: ' a | b||a ' }, { tags: ['a', 'b'] }],
  ['tags as a list', { tags: ['a', 'b,c', '{"}'] }, { tags: ['a', 'b,c', '{"}'] }],
  ['empty texts', { first_name: '', tags: '', linkedin: ' ' }, { firstName: null, tags: [], linkedin: null }],
  [
    'null',
    { first_name: null, tags: null, custom_attributes: null },
    { firstName: null, tags: [], customAttributes: {} },
  ],
  ['a phone number of digits', { phone_number: 15551234567 }, { phoneNumber: '15551234567' }],
  [
    'unknown fields',
    { colour: 'red', score: 1, id: newId(), workspace_id: newId() },
    { firstName: null, deliverabilityScore: null },
  ],
  [
    'any script',
    { first_name: 'Ζωή 🦉', company_name: `O'Brien "&" <b>` },
    { firstName: 'Ζωή 🦉', companyName: `O'Brien "&" <b>` },
  ],
  ["a prototype's name", { custom_attributes: { constructor: 'x' } }, { customAttributes: { constructor: 'x' } }],
]

/** Fields that POST /add-contact refuses, and the path that the response names. */
export const REFUSED: readonly (readonly [unknown, string])[] = [
  [{ email: undefined }, 'email'],
  [{ email: '' }, 'email'],
  [{ email: null }, 'email'],
  [{ email: 5 }, 'email'],
  [{ email: ['a@x.example'] }, 'email'],
  [{ email: 'nobody' }, 'email'],
  [{ email: 'a@x.example\r\nBcc: b@x.example' }, 'email'],
  [{ email: `${'x'.repeat(300)}@x.example` }, 'email'],
  [{ email: 'a@b@' }, 'email'],
  [{ audience_id: undefined }, 'audience_id'],
  [{ audience_id: null }, 'audience_id'],
  [{ audience_id: 'x' }, 'audience_id'],
  [{ audience_id: 5 }, 'audience_id'],
  [{ first_name: 'x'.repeat(256) }, 'first_name'],
  [{ firstName: 5 }, 'firstName'],
  [{ last_name: ['a'] }, 'last_name'],
  [{ company_name: { a: 1 } }, 'company_name'],
  [{ job_title: 'a\u0007b' }, 'job_title'],
  [{ linkedin: 'javascript:alert(1)' }, 'linkedin'],
  [{ linkedin: 'linkedin.com/in/a' }, 'linkedin'],
  [{ linkedin: `https://x.example/${'x'.repeat(2000)}` }, 'linkedin'],
  [{ timezone: 'Mars/Base' }, 'timezone'],
  [{ timezone: 5 }, 'timezone'],
  [{ tags: 5 }, 'tags'],
  [{ tags: ['a', 5] }, 'tags'],
  [{ tags: Array.from({ length: 101 }, (_, i) => `t${i}`) }, 'tags'],
  [{ tags: 'x'.repeat(101) }, 'tags'],
  [{ custom_attributes: [] }, 'custom_attributes'],
  [{ custom_attributes: 'a' }, 'custom_attributes'],
  [{ customAttributes: { a: { b: { c: { d: { e: { f: 1 } } } } } } }, 'customAttributes'],
  [{ custom_attributes: { a: 'x'.repeat(33_000) } }, 'custom_attributes'],
]

/** What the tests run on; a test may change its audience. */
export interface Scene {
  readonly api: TestApi
  readonly tenant: Tenant
  readonly audienceId: string
}

export interface ContactCalls {
  readonly call: (method: string, path: string, body?: unknown, key?: string) => Promise<TestResponse>
  readonly newAudience: (of?: Tenant) => Promise<string>
  readonly add: (body: object) => Promise<string>
  readonly get: (query: string) => Promise<Fields>
  readonly list: (query?: string) => Promise<Fields[]>
  readonly countOf: () => Promise<unknown>
  readonly unsubscribe: (id: string) => Promise<TestResponse>
}

export const pathsOf = (answer: TestResponse): string[] =>
  listOf(answer.body['details'])
    .map(({ path }) => textOf(path))
    .toSorted(byText)
export const refusedWith = (answer: TestResponse, path: string, what: string): void => {
  assert.deepEqual([answer.status, answer.body['error']], [400, 'VALIDATION_ERROR'], what)
  assert.ok(pathsOf(answer).includes(path), `${what}: ${JSON.stringify(answer.body)}`)
}

/** The calls of a scene that hooks set up later. */
export function contactCalls(scene: () => Scene): ContactCalls {
  const call = (method: string, path: string, body?: unknown, key = scene().tenant.admin): Promise<TestResponse> =>
    scene().api.call(method, `${BASE}${path}`, { key, ...(body === undefined ? {} : { body }) })
  const newAudience = async (of = scene().tenant): Promise<string> => {
    const { body } = await scene().api.call('POST', '/public/audiences/add-audience', {
      key: of.admin,
      body: { name: 'a' },
    })
    return textOf((body['data'] as Json)['id'])
  }
  const add = async (body: object): Promise<string> => {
    const answer = await call('POST', '/add-contact', { audience_id: scene().audienceId, ...body })
    assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
    return textOf((answer.body['data'] as Json)['id'])
  }
  const get = async (query: string): Promise<Fields> => {
    const answer = await call('GET', `/get-contact?${query}`)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return answer.body['data'] as unknown as Fields
  }
  const list = async (query = ''): Promise<Fields[]> => {
    const answer = await call('GET', `/get-contacts?audienceId=${scene().audienceId}&${query}`)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return listOf((answer.body['data'] as Json)['contacts'])
  }
  const countOf = async (): Promise<unknown> =>
    (
      await scene().api.call('GET', `/public/audiences/get-audience?id=${scene().audienceId}`, {
        key: scene().tenant.admin,
      })
    ).body['data']?.['contact_count']
  const unsubscribe = (id: string): Promise<TestResponse> =>
    call('PATCH', `/update-contact?id=${id}`, { status: 'unsubscribed', audience_id: scene().audienceId })
  return { call, newAudience, add, get, list, countOf, unsubscribe }
}
