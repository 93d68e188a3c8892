/**
 * People who sign in to an api under test, as a browser does: with a cookie, an Origin and the header X-Workspace.
 * Users are stored with a role; their passwords are hashed once.
 */
import type { MemberRole } from '#src/people/roles.ts'
import { addMember } from '#src/people/members.ts'
import { hashPassword } from '#src/people/passwords.ts'
import { createUser, storePassword } from '#src/people/users.ts'
import { newId } from '#src/platform/id.ts'
import { textOf, type TestApi, type TestCall, type TestResponse } from './api.ts'

export const PASSWORD = 'a password of tests'

export interface TestPerson {
  readonly userId: string
  readonly email: string
}

export interface NewPerson {
  readonly role?: MemberRole
  /** By default the first workspace of the api, if there is a role. */
  readonly workspaceId?: string
  readonly isOperator?: boolean
  readonly email?: string
}

let passwordHash: Promise<string | null> | null = null

export async function addPerson(api: TestApi, person: NewPerson = {}): Promise<TestPerson> {
  const { role, workspaceId, isOperator } = person
  passwordHash ??= hashPassword(PASSWORD)
  const hashed = (await passwordHash) ?? ''
  const id = newId()
  const email = person.email ?? `${id}@people.example`
  await api.db.transaction(async (tx) => {
    await createUser(tx, { id, email, name: 'Anna', isOperator: isOperator ?? false })
    await storePassword(tx, id, hashed)
    if (role !== undefined) await addMember(tx, { workspaceId: workspaceId ?? api.workspaceId, userId: id }, role)
  })
  return { userId: id, email }
}

/** The cookie of a response as `name=value`; an empty value if the response removes it. */
export function cookieOf(answer: TestResponse): string {
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** Signs in, and returns the cookie. */
export async function signIn(api: TestApi, { email }: Pick<TestPerson, 'email'>): Promise<string> {
  const answer = await api.call('POST', '/auth/login', { key: null, body: { email, password: PASSWORD } })
  if (answer.status !== 200) throw new Error(`login: ${answer.status} ${JSON.stringify(answer.body)}`)
  return cookieOf(answer)
}

export interface PersonCall extends Omit<TestCall, 'key'> {
  /** The id for X-Workspace; null for none. The first workspace of the api when not given. */
  readonly workspace?: string | null
}

/** Sends requests as a page of the service does. */
export function asPerson(
  api: TestApi,
  cookie: string,
): (method: string, path: string, call?: PersonCall) => Promise<TestResponse> {
  return (method, path, { workspace = api.workspaceId, headers, ...call } = {}) =>
    api.call(method, path, {
      key: null,
      ...call,
      headers: {
        cookie,
        origin: api.config.publicUrl,
        ...(workspace === null ? {} : { 'x-workspace': workspace }),
        ...headers,
      },
    })
}

/** Adds somebody, signs in, and returns their requests. */
export async function addSignedIn(
  api: TestApi,
  person: NewPerson,
): Promise<TestPerson & { readonly cookie: string; readonly call: ReturnType<typeof asPerson> }> {
  const added = await addPerson(api, person)
  const cookie = await signIn(api, added)
  return { ...added, cookie, call: asPerson(api, cookie) }
}

export function idOf(answer: TestResponse): string {
  return textOf(answer.body['data']?.['id'])
}
